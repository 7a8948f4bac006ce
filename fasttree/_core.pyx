"""The door of the engine: rows, codes and weights in, a flat tree out.

Knows arrays of codes, labels and weights.  Does not know algorithms by name, tables, feature names or scikit-learn.
Kernels trust their caller: every check is at the edge, in Python.

Here: growth of a tree, the threads that share it, and the walks over a finished tree.  ARCHITECTURE.md lists the headers in use.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport INFINITY, ceil
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import time

import numpy as np

from fasttree._engine.columns import locks
from fasttree._engine.columns.locks import started_threads
from fasttree._engine.arrays cimport doubles_of, int32s_of, int64s_of, memory_of, uint8s_of, uint32s_of
from fasttree._engine.encoding cimport Encoding, pieces
from fasttree._engine.grow.queue cimport grow_queue
from fasttree._engine.grow.team cimport Team, close_team, free_lock, hold, new_lock, open_team, release, wake
from fasttree._engine.grow.workers cimport Worker, carve_worker, free_worker, join, join_fields, join_team
from fasttree._engine.grow.nodes cimport NodeTable, free_nodes, number_rows, open_branches, take_nodes
from fasttree._engine.grow.scratch cimport coarse_shift_of
from fasttree._engine.grow.setup cimport (
    Growth, carve_growth, fill_growth, free_runs, grow_nodes, plan_growth, set_limits, set_policy, share_done,
)
from fasttree._engine.grow.work cimport divides
from fasttree._engine.memory cimport allow, free_arena, renew, share_pieces
from fasttree._engine.random cimport mix
from fasttree._engine.risk.impurity cimport impurity_words
from fasttree._engine.types cimport (
    DECLARED, DIRECTION, FRACTIONAL, GAIN, GAIN_RATIO, INTERVALS, MAJORITY, MDL_RATIO, MERGED, ONE_VS_REST, ORDERED, OWN_BRANCH,
    PLAIN_RATIO, PRESENT, REFUSE, SUBSET, SURROGATE, Arena, FeatureSets, Problem,
)
from fasttree._engine.walk.rows cimport INFINITE, MISSING_VALUES, SEVERAL, Rows, fill_rows, rows_of
from fasttree._engine.walk.steps cimport MOST_BESIDE, MOST_SINGLE, SingleStep, Steps, WalkStep, lay_out_steps, walk_rows
from fasttree._engine.walk.tree cimport Flat, add_shares, stops, visit
from fasttree._engine.watch cimport (
    OTHER, PROFILES, WRITE_OUT, PyErr_CheckSignals, enter, handles_signals, raise_pending, report_to, take_amount, take_seconds,
)

cdef enum:
    ROWS_AT_ONCE = 1048576     # that are walked before the interpreter is asked for signals

share_pieces(pieces)


# ---------------------------------------------------------------------------------------------------------------------
# Threads that share the growth of a tree
# ---------------------------------------------------------------------------------------------------------------------

cdef class Workers:
    """Threads that take the large nodes of one tree, and what is below them, from a queue.

    What each thread grows in private blocks are nodes of its own; `join` puts them into the tree, whose numbering does not depend
    on their order.
    """

    cdef Growth* growth
    cdef Worker* worker
    cdef int32_t n_workers
    cdef object lock               # of the following two
    cdef int32_t n_inside          # threads that use what the growth owns
    cdef bint closed

    def __cinit__(self, int32_t n_workers):
        self.worker = <Worker*> calloc(n_workers, sizeof(Worker))
        if self.worker == NULL:
            raise MemoryError
        self.n_workers = n_workers
        self.lock = locks.new_lock()

    def __dealloc__(self):
        cdef int32_t i
        for i in range(self.n_workers if self.worker else 0):
            free_worker(&self.worker[i])
        free(self.worker)

    cdef int open_workers(self) except -1:
        """Give every thread its space, as soon as the problem is complete."""
        cdef Growth* g = self.growth
        cdef Worker* worker
        cdef int32_t i
        open_team(&g.queue.team, self.n_workers)
        g.work.team = &g.queue.team
        g.frontier.lock = new_lock()
        if g.frontier.lock == NULL:
            raise MemoryError
        for i in range(self.n_workers):
            worker = &self.worker[i]
            if i:
                worker.buffer_size = carve_worker(worker, g, NULL) + 16
                worker.buffer = <char*> malloc(worker.buffer_size)
                if worker.buffer == NULL:
                    raise MemoryError
                carve_worker(worker, g, worker.buffer)
            join_team(g, worker, i)
        g.watch.failed = &g.queue.team.failed
        return 0

    def work(self, int32_t which):
        """Take nodes as long as there are any: what each thread but the first does."""
        cdef Growth* g = self.growth
        cdef Worker* worker = &self.worker[which]
        with self.lock:
            if self.closed:
                return
            self.n_inside += 1
        with nogil:
            grow_queue(&worker.problem, &worker.block, &worker.work, &g.queue)
        with self.lock:
            self.n_inside -= 1

    cdef void close(self) noexcept:
        """End the work, and return when no thread uses what the growth owns any more, whatever interrupts the wait."""
        cdef Team* team = &self.growth.queue.team
        cdef bint waits = True
        if team.lock != NULL:
            hold(team.lock)
            team.over = True
            wake(team)
            release(team.lock)
        while waits:
            try:
                with self.lock:
                    self.closed = True
                    waits = self.n_inside > 0
                if waits:
                    time.sleep(0.0001)
            except BaseException:
                continue
        if self.growth.frontier.lock != NULL:
            free_lock(self.growth.frontier.lock)
            self.growth.frontier.lock = NULL
        close_team(team)


IMPURITY = impurity_words()
FORM = {"declared": DECLARED, "present": PRESENT, "subset": SUBSET, "one_vs_rest": ONE_VS_REST, "threshold": ORDERED,
        "groups": MERGED, "intervals": INTERVALS, "error": ORDERED}
RANK = {"gain": GAIN, "gain_ratio": GAIN_RATIO, "plain_gain_ratio": PLAIN_RATIO, "mdl_gain_ratio": MDL_RATIO}
MISSING = {"error": REFUSE, "fractional": FRACTIONAL, "direction": DIRECTION, "majority": MAJORITY, "branch": OWN_BRANCH,
           "surrogate": SURROGATE}


cdef class Spec:
    """What growth does with any table: policy, limits and constraints.  Nothing changes it, so growths side by side may share it.

    Parameters
    ----------
    policy : Policy
    limits : EngineLimits
    paths : PathLimits
    """

    cdef Problem problem           # its part that depends neither on columns nor on targets
    cdef FeatureSets sets
    cdef int64_t n_sets
    cdef int64_t most_splits
    cdef double min_part_weight
    cdef object paths              # whose arrays `problem` and `sets` point into

    def __cinit__(self, policy, limits, paths):
        set_policy(&self.problem, policy)
        set_limits(&self.problem, limits)
        self.most_splits = limits.most_splits
        self.min_part_weight = limits.min_part_weight
        self.set_paths(paths)

    cdef int set_paths(self, paths) except -1:
        cdef const int8_t[::1] monotone = paths.monotone
        cdef const int64_t[::1] sets_start = paths.sets_start
        cdef const int32_t[::1] sets_of = paths.sets_of
        cdef const int64_t[::1] members_start = paths.members_start
        cdef const int32_t[::1] members = paths.members
        if monotone is not None:
            self.problem.monotone = &monotone[0]
        self.sets.pairwise = paths.pairwise
        if sets_start is not None:
            self.sets.sets_start = &sets_start[0]
            self.sets.sets_of = &sets_of[0]
            self.sets.members_start = &members_start[0]
            self.sets.members = &members[0]
            self.n_sets = members_start.shape[0] - 1
        self.paths = paths
        return 0


cdef class Targets:
    """Labels or values of the samples.  Nothing but growth that consumes them changes them, so growths may share them.

    Parameters
    ----------
    unit : float
        Weight of one quantum of the fixed-point weights.
    labels : uint16 array of shape (n_samples, n_outputs) or None
        Class of each target as a column of the class weights; None for regression.
    first_class : int32 array of shape (n_outputs + 1,) or None
        Column of the first class of each target, and the number of columns; None for regression.
    values : float64 array of shape (n_samples, n_outputs) or None
        Targets of regression.
    sums : Sums or None
        weight x target in fixed point, for the weights that growth is given; None for classes.
    ranks : uint32 array of shape (n_samples, n_outputs) or None
        Rank of each target among all, equal ones alike; None except for absolute error.
    """

    cdef readonly int64_t n_samples
    cdef bint used_up
    cdef int32_t n_classes
    cdef int32_t n_outputs
    cdef double unit
    cdef const uint16_t[:, ::1] labels
    cdef const int32_t[::1] first_class
    cdef const double[:, ::1] values
    cdef const int64_t[:, ::1] sums
    cdef const uint32_t[:, ::1] ranks
    cdef const double[::1] y_unit, y_centre, y_bound, deviation_bound

    def __cinit__(self, double unit, *, labels=None, first_class=None, values=None, sums=None, ranks=None):
        self.unit = unit
        self.labels = labels
        self.first_class = first_class
        self.values = values
        self.ranks = ranks
        self.sums = self.y_unit = self.y_centre = self.y_bound = self.deviation_bound = None
        if labels is not None:
            self.n_samples = self.labels.shape[0]
            self.n_outputs = <int32_t> self.labels.shape[1]
            self.n_classes = self.first_class[self.n_outputs]
            return
        self.n_samples = self.values.shape[0]
        self.n_outputs = <int32_t> self.values.shape[1]
        self.sums, self.y_unit, self.y_centre, self.y_bound, self.deviation_bound = sums

    cdef void describe(self, Growth* g) noexcept:
        """Fill in what a growth knows of the targets."""
        cdef Problem* p = &g.p
        p.n_classes = self.n_classes
        p.n_outputs = self.n_outputs
        p.n_counts = self.n_outputs if self.n_classes == 0 and self.n_outputs > 1 else self.n_classes
        p.width = max(p.n_counts, 1)
        p.unit = self.unit
        if self.ranks is not None:
            g.block.target_rank = &self.ranks[0, 0]
        if self.labels is not None:
            p.first_class = &self.first_class[0]
            g.block.label = &self.labels[0, 0]
            return
        g.block.y = &self.values[0, 0]
        g.block.ysum = <int64_t*> &self.sums[0, 0]
        g.y_bound = &self.y_bound[0]
        g.deviation_bound = &self.deviation_bound[0]
        p.y_unit = &self.y_unit[0]
        p.y_centre = &self.y_centre[0]


cdef class Workspace:
    """The memory of a growth: scratch, and copies of what growth overwrites.  It serves one growth after the other.

    Parameters
    ----------
    consume : bool
        Growth takes the lists of the encoding and overwrites weights and sums instead of copying them, which costs neither time
        nor memory: for the only tree that is grown from them.
    report : callable or None
        Called now and then, in the thread of the growth, with the share of the samples that have reached a leaf.  An exception
        from it ends the growth.
    """

    cdef readonly bint consume
    cdef object report
    cdef object lock               # held while a growth goes on
    cdef Growth growth
    cdef Arena arenas[4]           # of its runs, between growths
    cdef bint lent                 # the runs have the arenas
    cdef Arena buffer              # all whose size is known when growth starts

    def __cinit__(self, bint consume=False, report=None):
        self.consume = consume
        self.report = report
        self.lock = locks.new_lock()

    def __dealloc__(self):
        cdef int32_t i
        for i in range(4):
            free_arena(&self.arenas[i])
        free_arena(&self.buffer)

    cdef int start(self) except -1:
        """Start another growth, which has nothing of the last one but memory."""
        if not self.lock.acquire(False):
            raise RuntimeError("this Workspace serves another growth at the moment: give each thread a workspace of its own")
        memset(&self.growth, 0, sizeof(Growth))
        return 0

    cdef void end_runs(self) noexcept:
        """Free what the runs own.  A workspace that is used again keeps the arenas."""
        if self.lent:
            free_runs(&self.growth, NULL if self.consume else self.arenas)
        self.lent = False

    cdef void leave(self) noexcept:
        """End a growth, whatever has become of it."""
        self.end_runs()
        free_nodes(&self.growth.nodes)
        if self.buffer.data != NULL:
            allow(self.buffer.data, self.buffer.size)
        self.lock.release()

    cdef int plan(
        self, Encoding encoding, Targets targets, Spec spec, const int64_t[::1] weight, const int64_t[::1] case_weight,
    ) except -1:
        """Put the problem together, and choose its search."""
        cdef Growth* g = &self.growth
        g.p = spec.problem
        g.n_whole = encoding.n_samples
        g.reach = INFINITY
        g.sets = spec.sets
        g.n_sets = spec.n_sets
        g.p.sets = &g.sets if spec.sets.pairwise or spec.n_sets else NULL
        targets.describe(g)
        encoding.describe(&g.p, &g.block)
        g.wide = encoding.wide
        g.block_rows = encoding.block_rows
        g.n_counted = encoding.n_counted
        g.work.lists_end = encoding.cursor
        g.copies = not self.consume
        g.p.min_part = <int64_t> ceil(spec.min_part_weight / g.p.unit)
        g.p.weighted = weight is not None
        if weight is not None:
            g.block.weight = <int64_t*> &weight[0]
        if case_weight is not None:
            g.block.case_weight = <int64_t*> &case_weight[0]
        if encoding.bounded and targets.sums is not None:
            g.p.coarse_shift = coarse_shift_of(targets.sums)
        plan_growth(g, spec.most_splits)
        return 0

    cdef void grow_on(self, root) except *:
        """Grow below a node of a larger table instead of from a root: see `Root`."""
        self.growth.n_whole = root.n_samples
        self.growth.p.total_weight = root.total_weight
        self.growth.reach = root.reach

    cdef int lay_out(self) except -1:
        """Make one buffer for everything whose size is known now: measured first, then carved."""
        cdef size_t size = carve_growth(&self.growth, NULL) + 16
        if renew(&self.buffer, size):
            raise MemoryError
        allow(self.buffer.data, self.buffer.size)   # the branch before has other gaps
        carve_growth(&self.growth, self.buffer.data)
        fill_growth(&self.growth, handles_signals())
        if self.report is not None:
            report_to(&self.growth.watch, <void*> self.report, share_done, &self.growth)
        return 0

    cdef int borrow(self, Encoding encoding) except -1:
        """Give the runs their arenas and the root its lists."""
        cdef Growth* g = &self.growth
        self.lent = True
        g.work.arenas[0], g.work.arenas[1] = self.arenas[0], self.arenas[1]
        g.small.work.arenas[0], g.small.work.arenas[1] = self.arenas[2], self.arenas[3]
        memset(self.arenas, 0, sizeof(self.arenas))
        return encoding.lend(g.work.lists, &g.work.arenas[0], self.consume)

    cdef int grow_alone(self, uint64_t key) except -1:
        """Grow in this thread."""
        cdef int status
        with nogil:
            status = grow_nodes(&self.growth, key)
        raise_pending()
        if status:
            raise MemoryError
        return 0

    cdef dict take(self):
        """The nodes as arrays."""
        enter(WRITE_OUT)
        return take_nodes(&self.growth.nodes, self.growth.p.missing == SURROGATE)

    cdef bint overwrites_sums(self) noexcept:
        """Does growth divide samples in the sums of the targets themselves?"""
        return self.consume and divides(&self.growth.p) and self.growth.p.n_classes == 0

    cdef int grow_with_workers(self, uint64_t key, int32_t n_jobs) except -1:
        """As `grow_nodes`, with other threads; -1 becomes the exception that says why."""
        cdef Workers workers = Workers(n_jobs)
        cdef Growth* g = &self.growth
        cdef int status = -1
        cdef int32_t i
        workers.growth = g
        try:
            workers.open_workers()
            started_threads(workers.work, n_jobs - 1)
            with nogil:
                status = grow_nodes(g, key)
            raise_pending()
        finally:
            workers.close()
        status = status or join_fields(&g.nodes, workers.worker, n_jobs)
        for i in range(0 if status else n_jobs):
            status = status or join(&g.nodes, &workers.worker[i])
        if status:
            raise MemoryError
        return 0


cdef int check_sizes(
    Encoding encoding, Targets targets, const int64_t[::1] weight, const int64_t[::1] case_weight,
) except -1:
    cdef int64_t n = encoding.n_samples
    if targets.used_up:
        raise ValueError("the sums of these Targets were used up by growth with Workspace(consume=True): make new Targets")
    if targets.n_samples != n:
        raise ValueError(f"the encoding has {n} samples, but the targets have {targets.n_samples}: encode the same samples")
    if (weight is not None and weight.shape[0] != n) or (case_weight is not None and case_weight.shape[0] != n):
        raise ValueError(f"the encoding has {n} samples, but weight or case_weight has another length: give a weight for each")
    return 0


def grow(
    Encoding encoding,
    Targets targets,
    Spec spec,
    *,
    const int64_t[::1] weight=None,
    const int64_t[::1] case_weight=None,
    uint64_t seed=0,
    int32_t n_jobs=1,
    Workspace workspace=None,
    root=None,
):
    """Grow a tree.

    Growths in several threads may share `encoding`, `targets` and `spec`; each needs a workspace of its own.

    Parameters
    ----------
    encoding : Encoding
        With all features.
    targets : Targets
    spec : Spec
    weight : int64 array of shape (n_samples,) or None
        Sample weights in multiples of `targets.unit`.  None: every sample weighs 1.
    case_weight : int64 array of shape (n_samples,) or None
        Weights of whole samples, by which surrogates agree and parts of samples are measured.  None: 1.
    seed : int
        Seed of the features that nodes draw; with `root`, the key of its draws.
    n_jobs : int
        Threads that grow the subtrees below large nodes; the tree does not depend on it.
    workspace : Workspace or None
        Memory that is used again from tree to tree.  None: memory of this tree's own.
    root : Root or None
        The samples are those of a node in the tree of a larger table, and what grows is the part of that tree below it.

    Returns
    -------
    dict of arrays over nodes, breadth first (see `Nodes`).
    """
    cdef uint64_t key = mix(seed) if root is None else seed
    check_sizes(encoding, targets, weight, case_weight)
    if workspace is None:
        workspace = Workspace()
    workspace.start()
    try:
        workspace.plan(encoding, targets, spec, weight, case_weight)
        if root is not None:
            workspace.grow_on(root)
        workspace.lay_out()
        targets.used_up = workspace.overwrites_sums()
        workspace.borrow(encoding)
        if n_jobs > 1 and encoding.wide and workspace.growth.p.sets == NULL:
            workspace.grow_with_workers(key, n_jobs)
        else:
            workspace.grow_alone(key)
        workspace.end_runs()
        return workspace.take()
    finally:
        enter(OTHER)
        workspace.leave()


def grow_branches(
    list encodings, list targets, list weights, list first_rows, Spec spec, int32_t n_classes, Workspace workspace,
):
    """Grow the branches of a node, each as a tree of its own.

    Parameters
    ----------
    encodings, targets, weights : list
        What `grow` takes for each branch; it is used up, the weights, too.  An encoding of None: a leaf that holds nothing.
    first_rows : list of int
        Number of the first sample of each branch.
    spec : Spec
    n_classes : int
    workspace : Workspace
        One that consumes.

    Returns
    -------
    dict of arrays as from `grow`.  Node 0 is above the branches and holds nothing.
    """
    cdef Growth* g = &workspace.growth
    cdef NodeTable nodes
    cdef Encoding encoding
    cdef Py_ssize_t b
    workspace.start()
    try:
        g.nodes.width = n_classes
        if open_branches(&g.nodes, len(encodings)):
            raise MemoryError
        for b in range(len(encodings)):
            encoding = encodings[b]
            if encoding is None:
                continue
            nodes = g.nodes
            memset(g, 0, sizeof(Growth))
            g.nodes = nodes
            g.nodes.root = b + 1
            workspace.plan(encoding, targets[b], spec, weights[b], None)
            workspace.lay_out()
            workspace.borrow(encoding)
            workspace.grow_alone(mix(0))
            workspace.end_runs()
            number_rows(&g.nodes, nodes.n, first_rows[b])
        return workspace.take()
    finally:
        workspace.leave()


def spent():
    """Seconds and amounts by phase since the last call, in builds with FASTTREE_PROFILE; else None."""
    enter(WRITE_OUT)  # leaves the phase, and so adds its seconds
    enter(OTHER)
    names = ("other", "copy", "count", "bound", "refine", "partition", "small nodes", "write-out")
    return {name: (take_seconds(i), take_amount(i)) for i, name in enumerate(names)} if PROFILES else None


# ---------------------------------------------------------------------------------------------------------------------
# Walk: sample to leaf, or to weighted leaves
# ---------------------------------------------------------------------------------------------------------------------

cdef Flat flat_of(object tree):
    """The arrays of a tree, which must outlive their use."""
    cdef Flat t
    memset(&t, 0, sizeof(Flat))
    t.first_child = int32s_of(tree.first_child)
    t.n_branches = int32s_of(tree.n_branches)
    t.feature = int32s_of(tree.feature)
    t.kind = uint8s_of(tree.kind)
    t.threshold = doubles_of(tree.threshold)
    t.missing = int32s_of(tree.missing)
    t.table_start = int64s_of(tree.categories_start)
    t.table_code = uint32s_of(tree.categories_code)
    t.table_branch = int32s_of(tree.categories_branch)
    t.weight = doubles_of(tree.weight)
    t.lower = doubles_of(tree.lower)
    t.upper = doubles_of(tree.upper)
    t.cut_start = int64s_of(tree.cut_start)
    t.cut = doubles_of(tree.cut)
    t.means = tree.task == "regression"
    s = tree.surrogates
    if s is not None and len(s.feature):
        t.surrogate_start = int64s_of(s.start)
        t.surrogate_feature = int32s_of(s.feature)
        t.surrogate_kind = uint8s_of(s.kind)
        t.surrogate_threshold = doubles_of(s.threshold)
        t.low_branch = int32s_of(s.low_branch)
        t.surrogate_table_start = int64s_of(s.categories_start)
        t.surrogate_code = uint32s_of(s.categories_code)
        t.surrogate_branch = int32s_of(s.categories_branch)
    return t


cdef class Walker:
    """A finished tree as walks need it: its arrays, and a step per inner node.  Made once for a tree, which never changes."""

    cdef Flat flat
    cdef Steps steps
    cdef int32_t n_nodes
    cdef int32_t n_features
    cdef tuple kept

    def __cinit__(self, tree):
        self.flat = flat_of(tree)
        self.kept = (tree.first_child, tree.n_branches, tree.feature, tree.kind, tree.threshold, tree.missing,
                     tree.categories_start, tree.categories_code, tree.categories_branch, tree.weight, tree.lower, tree.upper,
                     tree.cut_start, tree.cut, tree.surrogates)
        self.n_nodes = tree.node_count
        self.n_features = tree.n_features
        self.steps.tree = &self.flat
        self.steps.step = <WalkStep*> malloc(self.n_nodes * sizeof(WalkStep))
        self.steps.node = <int32_t*> malloc(self.n_nodes * sizeof(int32_t))
        self.steps.place = <int32_t*> malloc(self.n_nodes * sizeof(int32_t))
        if not (self.steps.step and self.steps.node and self.steps.place):
            raise MemoryError
        if self.n_nodes <= MOST_SINGLE and self.n_features <= MOST_BESIDE:
            self.steps.single_step = <SingleStep*> malloc(self.n_nodes * sizeof(SingleStep))
            if self.steps.single_step == NULL:
                raise MemoryError
        lay_out_steps(&self.steps, self.n_nodes)

    def __dealloc__(self):
        free(self.steps.step)
        free(self.steps.single_step)
        free(self.steps.node)
        free(self.steps.place)

    @property
    def arrays(self):
        """The `Flat` of the tree for other compiled modules; it must not outlive the walker."""
        return PyCapsule_New(&self.flat, b"fasttree.Flat", NULL)

    def ends(self, X, bint refuse_missing=False):
        """Return where every row of a plain array ends, int32 (n,).

        None if X is no 2-D array of float32 or float64 with a column per feature and at least one row, if it holds infinity or
        (where refused) NaN, or if a row reaches several leaves: the caller then takes the general path.
        """
        cdef Rows rows
        cdef Py_ssize_t n
        cdef Py_ssize_t start = 0
        cdef int64_t n_divided = 0
        if not fill_rows(&rows, X) or rows.n_features != self.n_features or not 0 < rows.n <= INT32_MAX:
            return None
        out = np.empty(rows.n, dtype=np.int32)
        cdef int32_t* nodes = <int32_t*> memory_of(out)
        n = rows.n
        while start < n and n_divided == 0:
            rows.n = min(<Py_ssize_t> ROWS_AT_ONCE, n - start)
            with nogil:
                n_divided = walk_rows(&self.steps, &rows, MISSING_VALUES if refuse_missing else INFINITE, nodes + start)
            rows.data += rows.n * rows.row_stride
            start += rows.n
            if start < n and PyErr_CheckSignals():
                raise_pending()
        return None if n_divided else out


DIVIDED = SEVERAL                  # marks a sample in what `walk` finds


def walk(object tree, object X, int32_t[::1] out):
    """Write the leaf of every row of X (codes as floats, missing = NaN), or DIVIDED if it reaches several; return how many do.

    -1 if a value is infinite; then not all leaves are written.
    """
    cdef Walker walker = tree.walker
    cdef Rows rows = rows_of(X)
    cdef int64_t n_divided = 0
    if rows.n:
        with nogil:
            n_divided = walk_rows(&walker.steps, &rows, INFINITE, &out[0])
    return n_divided


def walk_shares(
    object tree, object X, const double[:, ::1] value, double[:, ::1] shares, int32_t[::1] leaves,
):
    """Write the class shares or mean of every row, added over the leaves it reaches, and the leaf that gets most of it.

    A leaf gives its class weights over their sum, an empty one all to the class it predicts (Quinlan 1993, section 3.3):
    `value` is `Tree.given`.
    """
    cdef Walker walker = tree.walker
    cdef const Flat* t = &walker.flat
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t row, k
    cdef Py_ssize_t n_nodes = value.shape[0]
    cdef Py_ssize_t n_classes = value.shape[1]
    cdef int32_t[:, ::1] nodes = np.empty((2, n_nodes), dtype=np.int32)        # those that wait, and those that are reached
    cdef double[:, ::1] weights = np.empty((2, n_nodes))
    cdef int64_t i, n
    cdef int32_t node
    cdef double largest
    with nogil:
        for row in range(rows.n):
            n = visit(t, &rows, row, 0, &nodes[0, 0], &weights[0, 0], &nodes[1, 0], &weights[1, 0])
            largest = -1
            for k in range(n_classes):
                shares[row, k] = 0
            for i in range(n):
                node = nodes[1, i]
                if not stops(t, &rows, row, node):
                    continue
                add_shares(t, value, node, weights[1, i], &shares[row, 0])
                if weights[1, i] > largest or (weights[1, i] == largest and node < leaves[row]):
                    largest = weights[1, i]
                    leaves[row] = node


def paths(object tree, object X, int64_t[::1] starts, int32_t[::1] out):
    """Find the nodes that every row reaches.  With `out` None write how many into starts[1:], else write them at starts."""
    cdef Walker walker = tree.walker
    cdef const Flat* t = &walker.flat
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t row, n_nodes = tree.node_count
    cdef int32_t[:, ::1] nodes = np.empty((2, n_nodes), dtype=np.int32)        # those that wait, and those that are reached
    cdef double[:, ::1] weights = np.empty((2, n_nodes))
    cdef bint write = out is not None
    cdef int64_t n
    with nogil:
        for row in range(rows.n):
            n = visit(t, &rows, row, 0, &nodes[0, 0], &weights[0, 0], &nodes[1, 0], &weights[1, 0])
            if write:
                memcpy(&out[starts[row]], &nodes[1, 0], n * sizeof(int32_t))
            else:
                starts[row + 1] = n

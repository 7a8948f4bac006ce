"""Prediction for servers: one row at a time from Python's own values, or many rows at once.

A predictor has trees in the layout of `walk/compact`, the names and categories of its features, and the labels of its classes.
Only the cells of a row that its paths test are read.  Objects do not change once they are made and share no scratch, so threads
may call all methods.  `_export/predictor` interprets cells of unusual types.
"""

from cpython.buffer cimport PyBUF_RECORDS_RO, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_Clear, PyErr_ExceptionMatches, PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport PyObject, Py_DECREF
from libc.math cimport NAN, isfinite, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

import numpy as np

from fasttree._engine.walk.compact cimport (
    IS_LEAF, Compact, Extra, Node, Sample, Visit, answer_by, branch_alone, end_of, enter, feature_of, go_on, kind_of,
    predict_block, state_of_block, whole_of,
)
from fasttree._engine.walk.layout cimport CompactParts, lay_out
from fasttree._engine.walk.rows cimport BLOCK, INFINITE, MISSING_VALUES, Rows, State, fill_rows
from fasttree._engine.walk.tree cimport Flat
from fasttree._engine.walk.verify cimport (
    SOUND, WRONG_CHILDREN, WRONG_CUTS, WRONG_EXTRA, WRONG_FEATURE, WRONG_KIND, WRONG_LEAF, WRONG_LENGTH, WRONG_MISSING,
    WRONG_SURROGATE, WRONG_TABLE, WRONG_THRESHOLD, WRONG_WEIGHT, Fault, fault_of,
)

cdef extern from "Python.h":
    # raw references: what is not there is no error yet
    PyObject* item_of "PyObject_GetItem"(object row, object name)
    PyObject* entry_of "PyDict_GetItemWithError"(object lookup, object cell)
    PyObject* at_place "PyTuple_GetItem"(tuple items, Py_ssize_t place)
    object cell_of "PySequence_GetItem"(object row, Py_ssize_t place)
    bint is_float "PyFloat_Check"(object cell)
    bint is_integer "PyLong_CheckExact"(object cell)
    bint is_text "PyUnicode_CheckExact"(object cell)
    bint is_sequence "PyList_Check"(object row)
    bint is_tuple "PyTuple_Check"(object row)
    bint is_dict "PyDict_Check"(object row)
    double float_value "PyFloat_AsDouble"(object cell)
    double integer_value "PyLong_AsDouble"(object cell)

FAULTS = {
    WRONG_KIND: "its kind of test is unknown or does not suit its branches",
    WRONG_FEATURE: "its feature is no column, or not of the kind that it tests",
    WRONG_LEAF: "a leaf must lead to itself and to a prediction",
    WRONG_CHILDREN: "its children must follow those of the nodes before, and every node must be a child",
    WRONG_THRESHOLD: "thresholds must be finite and in order",
    WRONG_MISSING: "missing values must go to one of its branches, be shared out or stop",
    WRONG_EXTRA: "its extra record must be the next, fit its test and lead to a prediction",
    WRONG_TABLE: "its table must be the next, for known codes in order, and lead to its branches",
    WRONG_CUTS: "its cuts must be the next, ascend, and be one fewer than its branches",
    WRONG_SURROGATE: "its surrogates must be the next, and be tests of two branches",
    WRONG_WEIGHT: "weights must be finite and not negative, and be there where samples divide",
    WRONG_LENGTH: "the nodes use another number of children or entries of tables than there are",
}

cdef object ARRAY = np.ndarray

cdef enum:
    AT_ONCE = 32               # blocks of rows that go through one tree before the next

cdef enum ImageForm:                # of a row
    SEQUENCE
    MAPPING
    DOUBLES
    SINGLES


cdef struct CellSource:            # where the cells of a row are
    ImageForm form
    const char* data           # of numbers
    Py_ssize_t stride


cdef void* memory_of(object array, bint writable) except NULL:
    """Where a contiguous array lies, which the caller keeps."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
    cdef void* memory = view.buf
    PyBuffer_Release(&view)
    return memory


def lay_out_tree(tree, ends):
    """The parts of a tree as `walk/compact` lays it out, each as an array of bytes or numbers, by name.

    `ends`, uint32, has the number of the prediction of each node where samples may end, in the order of the nodes.
    """
    cdef const uint32_t* end = <const uint32_t*> memory_of(ends, False)
    cdef const Flat* flat = <const Flat*> PyCapsule_GetPointer(tree.walker.arrays, b"fasttree.Flat")
    cdef int64_t n_nodes = tree.node_count
    cdef CompactParts parts
    memset(&parts, 0, sizeof(CompactParts))
    with nogil:
        lay_out(flat, n_nodes, end, &parts)
    if max(parts.n_cells, parts.n_entries, parts.n_cuts, parts.n_surrogates) >= 2**32:
        raise ValueError("the tables of the tree have more than 2**32 entries, which no predictor can hold")
    arrays = {
        "nodes": np.zeros(n_nodes * sizeof(Node), np.uint8),
        "extras": np.zeros(parts.n_extras * sizeof(Extra), np.uint8),
        "surrogates": np.zeros(parts.n_surrogates * sizeof(Node), np.uint8),
        "tables": np.zeros(parts.n_cells, np.uint8),
        "list_codes": np.zeros(parts.n_entries, np.uint32),
        "list_branches": np.zeros(parts.n_entries, np.int32),
        "cuts": np.zeros(parts.n_cuts, np.float64),
    }
    memset(&parts, 0, sizeof(CompactParts))
    parts.node = <Node*> memory_of(arrays["nodes"], True)
    parts.extra = <Extra*> memory_of(arrays["extras"], True)
    parts.surrogate = <Node*> memory_of(arrays["surrogates"], True)
    parts.table = <uint8_t*> memory_of(arrays["tables"], True)
    parts.list_code = <uint32_t*> memory_of(arrays["list_codes"], True)
    parts.list_branch = <int32_t*> memory_of(arrays["list_branches"], True)
    parts.cut = <double*> memory_of(arrays["cuts"], True)
    with nogil:
        lay_out(flat, n_nodes, end, &parts)
    return arrays


cdef struct Batch:                  # rows to predict into `values` (n, n_values) or, if NULL, `answers` (n, n_outputs)
    const Rows* rows
    Py_ssize_t start
    Py_ssize_t n
    State[AT_ONCE] states          # of each block
    double* values
    int32_t* answers


cdef int verify(Compact* t, const uint32_t* n_categories, str whose) except -1:
    """Raise a ValueError if a tree is not sound."""
    cdef int64_t where = 0
    cdef Fault fault
    with nogil:
        fault = fault_of(t, n_categories, &where)
    if fault != SOUND:
        raise ValueError(f"not a sound predictor: {whose}node {where}: {FAULTS[fault]}")
    return 0


cdef class Server:
    """A tree, or the mean of several, that predicts for rows; see `Predictor`, which is one.

    Parameters
    ----------
    image : array of uint8
        The memory that all parts lie in.
    parts : dict of str to (int, int)
        Where each part starts, at a multiple of its items' size, and how many bytes it has.  The part "trees", int64 of shape
        (n_trees, 7), has for each of several trees its number of nodes, weights (as many, or 0), extras, surrogates, cells of
        tables, entries of lists, and cuts, which sum to the parts; without it, there is one tree.
    names : tuple of str
        Names of the features.
    lookups : tuple of dict or None
        For each feature its categories and their codes, as floats; None if it is continuous.
    labels : tuple of tuple
        For each target the labels of its classes; of no target: regression.
    n_outputs : int
    loss : array of float64 (k, k), or None
    refuses_missing, refuses_unseen : bool

    Raises
    ------
    ValueError
        If the parts are no trees.
    """

    cdef Compact compact       # the tree; or all parts, and what several trees have in common
    cdef Compact* trees        # NULL: there is one tree
    cdef int64_t n_trees
    cdef object kept
    cdef tuple names
    cdef tuple lookups
    cdef tuple labels
    cdef bytes texts           # per feature: whether its categories are texts
    cdef bint refuses_missing
    cdef bint refuses_unseen

    def __cinit__(
        self, image, dict parts, tuple names, tuple lookups, tuple labels, int32_t n_outputs, loss, bint refuses_missing,
        bint refuses_unseen,
    ):
        cdef Compact* t = &self.compact
        cdef const char* memory = <const char*> memory_of(image, False)
        widths = np.array([len(of_target) for of_target in labels] or [1] * n_outputs, np.int32)
        n_categories = np.array([0 if lookup is None else max(len(lookup), 1) for lookup in lookups], np.uint32)
        self.kept = image, widths, loss
        self.names, self.lookups, self.labels = names, lookups, labels
        self.texts = bytes([bool(lookup) and isinstance(next(iter(lookup)), str) for lookup in lookups])
        self.refuses_missing, self.refuses_unseen = refuses_missing, refuses_unseen
        t.n_features, t.n_outputs, t.n_values = <int32_t> len(names), n_outputs, <int32_t> widths.sum()
        t.means = not labels
        t.width = <const int32_t*> memory_of(widths, False)
        t.loss = NULL
        if loss is not None:
            t.loss = <const double*> memory_of(loss, False)
        t.node = <const Node*> (memory + <Py_ssize_t> parts["nodes"][0])
        t.n_nodes = parts["nodes"][1] // sizeof(Node)
        t.value = <const double*> (memory + <Py_ssize_t> parts["values"][0])
        t.n_ends = parts["values"][1] // (8 * t.n_values)
        t.answer = <const int32_t*> (memory + <Py_ssize_t> parts["answers"][0])
        t.weight = NULL
        if parts["weights"][1]:
            t.weight = <const double*> (memory + <Py_ssize_t> parts["weights"][0])
        t.extra = <const Extra*> (memory + <Py_ssize_t> parts["extras"][0])
        t.n_extras = parts["extras"][1] // sizeof(Extra)
        t.surrogate = <const Node*> (memory + <Py_ssize_t> parts["surrogates"][0])
        t.n_surrogates = parts["surrogates"][1] // sizeof(Node)
        t.table = <const uint8_t*> (memory + <Py_ssize_t> parts["tables"][0])
        t.n_cells = parts["tables"][1]
        t.list_code = <const uint32_t*> (memory + <Py_ssize_t> parts["list_codes"][0])
        t.list_branch = <const int32_t*> (memory + <Py_ssize_t> parts["list_branches"][0])
        t.n_entries = parts["list_codes"][1] // sizeof(uint32_t)
        t.cut = <const double*> (memory + <Py_ssize_t> parts["cuts"][0])
        t.n_cuts = parts["cuts"][1] // sizeof(double)
        cdef const uint32_t* of_features = <const uint32_t*> memory_of(n_categories, False)
        self.n_trees = 1
        if "trees" not in parts:
            verify(t, of_features, "")
        else:
            self.n_trees = parts["trees"][1] // (7 * sizeof(int64_t))
            self.divide(<const int64_t*> (memory + <Py_ssize_t> parts["trees"][0]), of_features)

    cdef int divide(self, const int64_t* size, const uint32_t* of_features) except -1:
        """Give each of several trees its share of all parts."""
        cdef Compact* t
        cdef Compact left = self.compact
        cdef int64_t i
        self.trees = <Compact*> PyMem_Malloc(self.n_trees * sizeof(Compact))
        if self.trees == NULL:
            raise MemoryError
        self.compact.most_waiting = 1
        for i in range(self.n_trees):
            t = &self.trees[i]
            t[0] = left
            t.n_nodes, t.n_extras, t.n_surrogates = size[0], size[2], size[3]
            t.n_cells, t.n_entries, t.n_cuts = size[4], size[5], size[6]
            if size[1] == 0:
                t.weight = NULL
            verify(t, of_features, f"tree {i}, ")
            self.compact.most_waiting = max(self.compact.most_waiting, t.most_waiting)
            left.node += size[0]
            left.extra += size[2]
            left.surrogate += size[3]
            left.table += size[4]
            left.list_code += size[5]
            left.list_branch += size[5]
            left.cut += size[6]
            if size[1]:
                left.weight += size[1]
            size += 7
        return 0

    def __dealloc__(self):
        PyMem_Free(self.trees)

    # one row

    def predict_one(self, row):
        """Predict one row.

        Only the features that the row's way down the tree tests are looked at, so a call takes time with the depth of the tree,
        not with the number of features; what is wrong with other cells goes unnoticed.

        Parameters
        ----------
        row : list, tuple, array of shape (n_features,), or mapping of feature names to values
            Categories as they were in the fit; missing: None, NaN, NA.  A mapping may have more names; one that is needed and
            absent is an error.  A model without feature names calls them x0, x1, ...

        Returns
        -------
        label or float
            One of `classes_` as a value of Python's own, or the predicted number; of several targets a list.

        Raises
        ------
        ValueError
            Another number of values, an absent name, an infinite value, a missing or unseen one that the model refuses.
        TypeError
            A value or a row of a type that no table has.
        """
        return self.answer(row, False)

    def predict_proba_one(self, row):
        """Return the probability of each class for one row.

        Parameters
        ----------
        row : list, tuple, array of shape (n_features,), or mapping of feature names to values
            As for `predict_one`.

        Returns
        -------
        list of float
            In the order of `classes_`; of several targets a list of such.

        Raises
        ------
        AttributeError
            In regression.
        ValueError, TypeError
            As `predict_one`.
        """
        if not self.labels:
            raise AttributeError("a regression tree has no probabilities of classes: use predict_one")
        return self.answer(row, True)

    cdef object answer(self, object row, bint shares):
        """Predict for a row of any form."""
        cdef CellSource source
        cdef Py_buffer view
        if is_sequence(row) or is_tuple(row):
            source.form = SEQUENCE
        elif is_dict(row):
            source.form = MAPPING
        elif type(row) is ARRAY:
            PyObject_GetBuffer(row, &view, PyBUF_RECORDS_RO)
            try:
                if view.ndim == 1 and view.format[1] == 0 and (view.format[0] == c"d" or view.format[0] == c"f"):
                    self.check_length(view.shape[0])
                    source.form = DOUBLES if view.format[0] == c"d" else SINGLES
                    source.data, source.stride = <const char*> view.buf, view.strides[0]
                    return self.walk(row, &source, shares)
            finally:
                PyBuffer_Release(&view)
            row, source.form = self._plain_row(row), SEQUENCE
        else:
            row = self._plain_row(row)
            source.form = SEQUENCE if is_sequence(row) else MAPPING
        if source.form == SEQUENCE:
            self.check_length(len(row))
        return self.walk(row, &source, shares)

    cdef int check_length(self, Py_ssize_t n) except -1:
        if n != self.compact.n_features:
            raise ValueError(f"the row has {n} values; this model has {self.compact.n_features} features, and needs one of each")
        return 0

    cdef object walk(self, object row, const CellSource* source, bint shares):
        """Predict for a row: what its end predicts, once the values alone have led there."""
        cdef const Compact* t = &self.compact
        if self.trees != NULL:
            return self.walk_trees(row, source, shares)
        cdef const Node* node = t.node
        cdef double x
        cdef int32_t branch
        while kind_of(node) != IS_LEAF:
            x = self.number_in(row, source, feature_of(node))
            branch = branch_alone(t, node, x)
            if branch < 0:
                return self.visit(row, source, node - t.node, shares)
            node = t.node + node.first_child + branch
        return self.told_of_end(node - t.node, shares)

    cdef object visit(self, object row, const CellSource* source, int64_t start, bint shares):
        """The same from a node on whose test does not go by the value alone."""
        cdef const Compact* t = &self.compact
        cdef Visit visit
        cdef Sample sample
        cdef Py_ssize_t n_doubles = t.most_waiting + t.n_values + t.n_features
        cdef Py_ssize_t n_integers = t.most_waiting + t.n_outputs
        cdef char* scratch = <char*> PyMem_Malloc(n_doubles * sizeof(double) + n_integers * sizeof(int32_t) + t.n_features)
        if scratch == NULL:
            raise MemoryError
        try:
            visit.part = <double*> scratch
            visit.sums = visit.part + t.most_waiting
            sample.cell = visit.sums + t.n_values
            visit.stack = <uint32_t*> (sample.cell + t.n_features)
            answers = <int32_t*> (visit.stack + t.most_waiting)
            sample.known = <uint8_t*> (answers + t.n_outputs)
            sample.X = NULL
            memset(sample.known, 0, t.n_features)
            enter(t, &visit, <uint32_t> start)
            while not go_on(t, &visit, &sample):
                sample.cell[sample.wanted] = self.number_in(row, source, sample.wanted)
                sample.known[sample.wanted] = True
            if not visit.divided:
                return self.told_of_end(visit.node, shares)
            if shares or t.means:
                return self.told_of_values(visit.sums)
            answer_by(t, visit.sums, answers)
            return self.labels_of(answers)
        finally:
            PyMem_Free(scratch)

    cdef object walk_trees(self, object row, const CellSource* source, bint shares):
        """Predict for a row: the mean of what the trees predict."""
        cdef const Compact* t = &self.compact
        cdef Visit visit
        cdef Sample sample
        cdef int64_t i
        cdef int32_t k
        cdef Py_ssize_t n_doubles = t.most_waiting + 2 * t.n_values + t.n_features
        cdef Py_ssize_t n_integers = t.most_waiting + t.n_outputs
        cdef char* scratch = <char*> PyMem_Malloc(n_doubles * sizeof(double) + n_integers * sizeof(int32_t) + t.n_features)
        if scratch == NULL:
            raise MemoryError
        try:
            visit.part = <double*> scratch
            visit.sums = visit.part + t.most_waiting
            mean = visit.sums + t.n_values
            sample.cell = mean + t.n_values
            visit.stack = <uint32_t*> (sample.cell + t.n_features)
            answers = <int32_t*> (visit.stack + t.most_waiting)
            sample.known = <uint8_t*> (answers + t.n_outputs)
            sample.X = NULL
            memset(sample.known, 0, t.n_features)
            for k in range(t.n_values):
                mean[k] = 0
            for i in range(self.n_trees):
                self.add_tree(&self.trees[i], row, source, &visit, &sample, mean)
            for k in range(t.n_values):
                mean[k] /= self.n_trees
            if shares or t.means:
                return self.told_of_values(mean)
            answer_by(t, mean, answers)
            return self.labels_of(answers)
        finally:
            PyMem_Free(scratch)

    cdef int add_tree(
        self, const Compact* t, object row, const CellSource* source, Visit* visit, Sample* sample, double* sums,
    ) except -1:
        """Add what a tree predicts for a row, whose cells are read when the first tree tests them."""
        cdef const Node* node = t.node
        cdef int32_t feature, branch, k
        visit.divided = False
        while kind_of(node) != IS_LEAF:
            feature = feature_of(node)
            if not sample.known[feature]:
                sample.cell[feature] = self.number_in(row, source, feature)
                sample.known[feature] = True
            branch = branch_alone(t, node, sample.cell[feature])
            if branch < 0:
                enter(t, visit, <uint32_t> (node - t.node))
                while not go_on(t, visit, sample):
                    sample.cell[sample.wanted] = self.number_in(row, source, sample.wanted)
                    sample.known[sample.wanted] = True
                node = t.node + visit.node
                break
            node = t.node + node.first_child + branch
        value, whole = t.value + end_of(t, node) * t.n_values, whole_of(t, node - t.node)
        for k in range(t.n_values):
            sums[k] += visit.sums[k] if visit.divided else value[k] / whole
        return 0

    cdef object told_of_end(self, int64_t node, bint shares):
        cdef const Compact* t = &self.compact
        cdef int64_t end = end_of(t, t.node + node)
        if t.means:
            return self.told_of_values(t.value + end * t.n_values)
        if shares:
            return self.told_of_shares(t.value + end * t.n_values, whole_of(t, node))
        return self.labels_of(t.answer + end * t.n_outputs)

    cdef object labels_of(self, const int32_t* answers):
        cdef int32_t output
        if self.compact.n_outputs == 1:
            return <object> at_place(<tuple> <object> at_place(self.labels, 0), answers[0])
        return [self.labels[output][answers[output]] for output in range(self.compact.n_outputs)]

    cdef object told_of_values(self, const double* values):
        """Means; or the shares of a divided sample."""
        cdef int32_t output
        if self.labels:
            return self.told_of_shares(values, 1)
        if self.compact.n_outputs == 1:
            return values[0]
        return [values[output] for output in range(self.compact.n_outputs)]

    cdef object told_of_shares(self, const double* values, double whole):
        cdef const Compact* t = &self.compact
        cdef int32_t output, k
        cdef int32_t start = 0
        cdef list shares_of = []
        if t.n_outputs == 1:
            return [values[k] / whole for k in range(t.n_values)]
        for output in range(t.n_outputs):
            shares_of.append([values[k] / whole for k in range(start, start + t.width[output])])
            start += t.width[output]
        return shares_of

    cdef double number_in(self, object row, const CellSource* source, int32_t feature) except? -1:
        """A cell as the tree sees it: a number, the code of a category, NaN for missing and unseen ones."""
        cdef PyObject* found
        cdef double x
        cdef object cell
        cdef object lookup = <object> at_place(self.lookups, feature)
        if source.form == SEQUENCE:
            cell = cell_of(row, feature)
        elif source.form == MAPPING:
            found = item_of(row, <object> at_place(self.names, feature))
            if found == NULL:
                self.raise_absent(feature)
            cell = <object> found
            Py_DECREF(cell)
        else:
            x = (<const double*> (source.data + feature * source.stride))[0] if source.form == DOUBLES else (
                <const float*> (source.data + feature * source.stride)
            )[0]
            if lookup is None and isfinite(x):
                return x
            cell = x
        if lookup is not None:
            return self.code_of(cell, lookup, feature)
        if is_float(cell):
            x = float_value(cell)
            if isfinite(x) or (isnan(x) and not self.refuses_missing):
                return x
        elif is_integer(cell):
            x = integer_value(cell)
            if x != -1 or not PyErr_Occurred():
                return x
            PyErr_Clear()
        elif cell is None and not self.refuses_missing:
            return NAN
        return self._look_closer(feature, cell)

    cdef double code_of(self, object cell, object lookup, int32_t feature) except? -1:
        """The code of a category, NaN for one that is missing or unseen."""
        cdef PyObject* found
        cdef bint is_missing = cell is None or (is_float(cell) and isnan(float_value(cell)))
        if is_missing and not self.refuses_missing:
            return NAN
        if is_text(cell) or is_integer(cell) or cell is True or cell is False or (is_float(cell) and not is_missing):
            found = entry_of(lookup, cell)
            if found != NULL:
                return float_value(<object> found)
            if PyErr_Occurred():
                return -1
            if is_text(cell) and (<const char*> self.texts)[feature] and not self.refuses_unseen:
                return NAN
        return self._look_closer(feature, cell)

    cdef int raise_absent(self, int32_t feature) except -1:
        if not PyErr_ExceptionMatches(KeyError):
            return -1
        PyErr_Clear()
        raise ValueError(
            f"the row has no value for {self.names[feature]!r}, which the tree tests: give it, or None if it is missing"
        )

    # many rows

    def _predict_rows(self, X, values, answers, bint refuse_missing=False):
        """Predict a matrix of float32 or float64: codes as floats, missing = NaN.

        Fills `values`, float64 (n, n_values), or if that is None `answers`, int32 (n, n_outputs); False if X is no such matrix
        or holds infinity or a missing value that is refused.
        """
        cdef const Compact* t = &self.compact
        cdef Rows rows
        cdef Visit visit
        cdef State refused = MISSING_VALUES if refuse_missing else INFINITE
        cdef Batch batch
        cdef Py_ssize_t n = BLOCK * (AT_ONCE + 1) if self.trees != NULL else 0      # rows of values in the scratch
        cdef bint fine = True
        if not fill_rows(&rows, X) or rows.n_features != t.n_features:
            return False
        batch.values, batch.answers = NULL, NULL
        if values is not None:
            batch.values = <double*> memory_of(values, True)
        else:
            batch.answers = <int32_t*> memory_of(answers, True)
        scratch = <char*> PyMem_Malloc(
            (t.most_waiting + (n + 1) * t.n_values) * sizeof(double) + t.most_waiting * sizeof(uint32_t)
        )
        if scratch == NULL:
            raise MemoryError
        visit.part = <double*> scratch
        visit.sums = visit.part + t.most_waiting
        room = visit.sums + t.n_values
        visit.stack = <uint32_t*> (room + n * t.n_values)
        batch.rows, batch.start = &rows, 0
        with nogil:
            while fine and batch.start < rows.n:
                batch.n = min(<Py_ssize_t> (BLOCK * AT_ONCE), rows.n - batch.start)
                fine = fill_states(&batch, refused)
                if fine and self.trees != NULL:
                    self.predict_means(&batch, &visit, room)
                elif fine:
                    predict_blocks(t, &batch, &visit)
                batch.start += batch.n
                if batch.values != NULL:
                    batch.values += batch.n * t.n_values
                else:
                    batch.answers += batch.n * t.n_outputs
        PyMem_Free(scratch)
        return fine

    cdef void predict_means(self, const Batch* batch, Visit* visit, double* room) noexcept nogil:
        """Predict the mean of all trees; `room` has values for AT_ONCE + 1 blocks."""
        cdef const Compact* t = &self.compact
        cdef double* sums = batch.values if batch.values != NULL else room + BLOCK * t.n_values
        cdef Py_ssize_t at, k, here
        cdef int64_t i
        for k in range(batch.n * t.n_values):
            sums[k] = 0
        for i in range(self.n_trees):
            at = 0
            while at < batch.n:
                here = min(<Py_ssize_t> BLOCK, batch.n - at)
                predict_block(
                    &self.trees[i], batch.rows, batch.start + at, <int32_t> here, batch.states[at // BLOCK], visit, room, NULL
                )
                for k in range(here * t.n_values):
                    sums[at * t.n_values + k] += room[k]
                at += here
        for k in range(batch.n * t.n_values):
            sums[k] /= self.n_trees
        if batch.values == NULL:
            for k in range(batch.n):
                answer_by(t, sums + k * t.n_values, batch.answers + k * t.n_outputs)


cdef bint fill_states(Batch* batch, State refused) noexcept nogil:
    """Find the state of each block; False if one is refused."""
    cdef Py_ssize_t at = 0
    while at < batch.n:
        batch.states[at // BLOCK] = state_of_block(
            batch.rows, batch.start + at, <int32_t> min(<Py_ssize_t> BLOCK, batch.n - at)
        )
        if batch.states[at // BLOCK] >= refused:
            return False
        at += BLOCK
    return True


cdef void predict_blocks(const Compact* t, const Batch* batch, Visit* visit) noexcept nogil:
    """Predict by one tree."""
    cdef Py_ssize_t at = 0
    while at < batch.n:
        predict_block(
            t, batch.rows, batch.start + at, <int32_t> min(<Py_ssize_t> BLOCK, batch.n - at), batch.states[at // BLOCK], visit,
            batch.values + at * t.n_values if batch.values != NULL else NULL,
            batch.answers + at * t.n_outputs if batch.answers != NULL else NULL,
        )
        at += BLOCK

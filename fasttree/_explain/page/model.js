/* The page of one tree.  These files are one script, in the order of `page.SCRIPTS`: model (from the data to a tree), words, shown (which nodes),
   drawing, panels, choices, events; other parts are there if the tree has data for them.  Names in the data are never parsed as markup: all text is set through textContent. */

// ---------------------------------------------------------------------------------------------------------------- the tree

const THRESHOLD = 1, NOMINAL = 2, CATEGORY = 3, KNOWN = 4, INTERVALS = 5; // kinds of tests, as in Tree.kind
const SHARES = -1, STOP = -2; // where a missing value goes, besides a branch

/** The data of the tree to show: of several, the one whose number the address names, else the first. */
function chosenData(data) {
  if (!data.trees) return data;
  const number = new URLSearchParams(location.hash.slice(1)).get("tree");
  const chosen = data.trees.find((each) => String(each.number) === number) ?? data.trees[0];
  return { ...chosen, numbers: data.trees.map((each) => each.number) };
}

/** Arrays by node, as in fasttree's Tree, from the page's data. */
function readTree(data) {
  const n = data.branches.length;
  const columns = data.targets.map((target) => (target.classes ? target.classes.length : 1));
  const starts = columns.map((_, i) => columns.slice(0, i).reduce((sum, width) => sum + width, 0));
  const tree = {
    ...data, n, starts, columns,
    k: columns.reduce((sum, width) => sum + width, 0),
    isRegression: data.task === "regression",
    weight: data.weight ?? data.samples,
    parent: new Int32Array(n).fill(-1), depth: new Int32Array(n), firstChild: new Int32Array(n).fill(-1),
    feature: new Int32Array(n).fill(-1), kind: new Uint8Array(n), missing: new Int32Array(n).fill(STOP),
    gain: new Float64Array(n), threshold: new Float64Array(n).fill(NaN),
    text: new Map(), soft: new Map(), table: new Map(), cuts: new Map(), surrogates: new Map(),
    collapsedAt: new Float64Array(n).fill(Infinity), // the first subtree of the pruning sequence in which a node is a leaf
  };
  readTests(data, tree);
  if (data.surrogates) readSurrogates(data.surrogates, tree);
  tree.value = readValues(data.value, tree);
  readRange(tree);
  if (data.given) { // the same tree with the values of the samples given, which are not those of the fit
    tree.given = Object.assign(Object.create(tree), { weight: data.given.samples, divides: false });
    tree.given.value = readValues(data.given.value, tree.given);
  }
  data.subtrees.collapsed.forEach((nodes, step) => nodes.forEach((v) => { tree.collapsedAt[v] = step; }));
  groupEmptyLeaves(tree);
  return tree;
}

function readTests(data, tree) {
  // children follow one another in the order of their parents: breadth first
  let next = 1, inner = 0, thresholds = 0, tables = 0, cuts = 0;
  for (let v = 0; v < tree.n; v++) {
    if (!data.branches[v]) continue;
    tree.firstChild[v] = next;
    for (let b = 0; b < data.branches[v]; b++, next++) {
      tree.parent[next] = v;
      tree.depth[next] = tree.depth[v] + 1;
    }
    tree.feature[v] = data.feature[inner];
    tree.kind[v] = data.kind[inner];
    tree.missing[v] = data.missing[inner];
    tree.gain[v] = data.gain[inner++];
    if (tree.kind[v] === THRESHOLD) {
      tree.threshold[v] = data.threshold[thresholds];
      tree.text.set(v, data.thresholdText[thresholds] || String(data.threshold[thresholds]));
      if (data.soft) tree.soft.set(v, [data.soft[0][thresholds], data.soft[1][thresholds]]);
      thresholds++;
    } else if (tree.kind[v] === NOMINAL) {
      tree.table.set(v, tableOf(data.table[tables++]));
    } else if (tree.kind[v] === INTERVALS) {
      const places = data.cuts[cuts];
      tree.cuts.set(v, { places, texts: data.cutText[cuts++].map((text, i) => text || String(places[i])) });
    }
  }
}

function tableOf([codes, branches]) {
  return new Map(codes.map((code, i) => [code, branches[i]]));
}

function readSurrogates(data, tree) {
  let thresholds = 0, tables = 0;
  data.node.forEach((node, i) => {
    const surrogate = { feature: data.feature[i], kind: data.kind[i], agreement: data.agreement[i], adjusted: data.adjusted[i] };
    if (surrogate.kind === THRESHOLD) {
      surrogate.threshold = data.threshold[thresholds];
      surrogate.text = data.thresholdText[thresholds] || String(surrogate.threshold);
      surrogate.low = data.low[thresholds++];
    } else {
      surrogate.table = tableOf(data.table[tables++]);
    }
    if (!tree.surrogates.has(node)) tree.surrogates.set(node, []);
    tree.surrogates.get(node).push(surrogate);
  });
}

/** Return the means of the nodes, or the weights of their classes, which are listed or the sum of the children. */
function readValues(lists, tree) {
  const { n, k } = tree;
  const value = new Float64Array(n * k);
  for (let v = n - 1; v >= 0; v--) {
    const list = lists[v];
    if (tree.isRegression) {
      value.set(list, v * k);
    } else if (list !== 0) {
      for (let i = 0; i < list.length; i += 2) value[v * k + list[i]] = list[i + 1];
    } else {
      for (const child of childrenOf(tree, v)) {
        if (tree.weight[child] > 0) for (let c = 0; c < k; c++) value[v * k + c] += value[child * k + c];
      }
    }
  }
  return value;
}

function readRange(tree) {
  const { n, k } = tree;
  tree.range = tree.columns.map((_, target) => {
    let low = Infinity, high = -Infinity;
    for (let v = 0; v < n; v++) {
      low = Math.min(low, tree.value[v * k + target]);
      high = Math.max(high, tree.value[v * k + target]);
    }
    return [low, high];
  });
}

/** Group the empty leaves of each node with a branch per category into one: they all have the same prediction. */
function groupEmptyLeaves(tree) {
  tree.groups = new Map(); // from the leaf that is shown to all leaves of its group
  tree.standIn = Int32Array.from({ length: tree.n }, (_, v) => v);
  for (let v = 0; v < tree.n; v++) {
    if (tree.kind[v] !== CATEGORY) continue;
    const past = tree.firstChild[v] + tree.features[tree.feature[v]].categories.length;
    const empty = childrenOf(tree, v).filter((child) => tree.weight[child] === 0 && child < past);
    if (empty.length < 2) continue;
    tree.groups.set(empty[0], empty);
    for (const child of empty) tree.standIn[child] = empty[0];
  }
}

function childrenOf(tree, v) {
  return Array.from({ length: tree.branches[v] }, (_, b) => tree.firstChild[v] + b);
}

/** Return the nodes from the root to v. */
function pathTo(tree, v) {
  const path = [];
  for (; v >= 0; v = tree.parent[v]) path.push(v);
  return path.reverse();
}

// ------------------------------------------------------------------------------------------------------------- predictions

/** Return the branch of a value at a node, -1 if the test does not know it.  Categories are codes from 1; missing is NaN. */
function knownBranch(tree, v, x) {
  switch (tree.kind[v]) {
    case THRESHOLD: return Number.isNaN(x) ? -1 : Number(x > tree.threshold[v]);
    case KNOWN: return Number.isNaN(x) ? 1 : 0;
    case INTERVALS: return Number.isNaN(x) ? -1 : tree.cuts.get(v).places.filter((cut) => cut < x).length;
    case CATEGORY: return x >= 1 && x <= tree.branches[v] ? x - 1 : -1;
    default: return tree.table.get(v).get(x) ?? -1;
  }
}

function surrogateBranch(surrogate, x) {
  if (surrogate.kind === NOMINAL) return surrogate.table.get(x) ?? -1;
  return Number.isNaN(x) ? -1 : surrogate.low ^ Number(x > surrogate.threshold);
}

/** Return the part of a sample that a soft threshold sends to the first branch (Quinlan 1993, chapter 8; 0.001 as in his program). */
function firstPart([lower, upper], threshold, x) {
  if (x <= lower) return 1;
  if (x <= threshold) return 1 - 0.5 * (0.5 * x - 0.5 * lower) / (0.5 * threshold - 0.5 * lower + 0.0005);
  if (x < upper) return 0.5 - 0.5 * (0.5 * x - 0.5 * threshold) / (0.5 * upper - 0.5 * threshold + 0.0005);
  return 0;
}

/** Return what decides a test ("soft", "value", "surrogate", "missing", "shares", "stop"), and the part of the sample for each branch. */
function decide(tree, v, sample) {
  const x = sample[tree.feature[v]];
  const soft = tree.soft.get(v);
  if (soft && !Number.isNaN(x)) {
    const part = firstPart(soft, tree.threshold[v], x);
    const parts = [[0, part], [1, 1 - part]].filter(([, share]) => share > 0);
    return { by: parts.length > 1 ? "soft" : "value", parts };
  }
  const branch = knownBranch(tree, v, x);
  if (branch >= 0) return { by: "value", parts: [[branch, 1]] };
  for (const surrogate of tree.surrogates.get(v) ?? []) {
    const stead = surrogateBranch(surrogate, sample[surrogate.feature]);
    if (stead >= 0) return { by: "surrogate", surrogate, parts: [[stead, 1]] };
  }
  if (tree.missing[v] >= 0) return { by: "missing", parts: [[tree.missing[v], 1]] };
  if (tree.missing[v] === STOP) return { by: "stop", parts: [] };
  const children = childrenOf(tree, v);
  const whole = children.reduce((sum, child) => sum + tree.weight[child], 0);
  const parts = children.map((child, b) => [b, tree.weight[child] / whole]).filter(([b]) => tree.weight[children[b]] > 0);
  return { by: "shares", parts };
}

/** Return every node that a sample reaches, parents first, with the part that arrives and the decision there (null: it ends). */
function walk(tree, sample, isLeaf = (v) => !tree.branches[v]) {
  const visits = [];
  const waiting = [[0, 1]];
  while (waiting.length) {
    const [node, part] = waiting.pop();
    const decision = isLeaf(node) ? null : decide(tree, node, sample);
    visits.push({ node, part, decision });
    if (!decision) continue;
    for (const [branch, share] of decision.parts.slice().reverse()) waiting.push([tree.firstChild[node] + branch, part * share]);
  }
  return visits;
}

/** Return the prediction for a sample from its visits: class shares of all targets side by side, or means. */
function predict(tree, visits, sample) {
  const ends = visits.filter((visit) => !visit.decision || !visit.decision.parts.length);
  if (tree.models) return [applied(tree, ends[0].node, sample).value];
  if (ends.length === 1) return sharesOf(tree, ends[0].node);
  const sum = new Float64Array(tree.k);
  for (const { node, part } of ends) sharesOf(tree, node).forEach((share, c) => { sum[c] += part * share; });
  return sum;
}

/** Return the class shares or means of a node; in an empty leaf, the predicted class has share 1. */
function sharesOf(tree, v) {
  const value = tree.value.slice(v * tree.k, (v + 1) * tree.k);
  if (tree.isRegression) return value;
  tree.columns.forEach((width, target) => {
    const start = tree.starts[target];
    const part = value.subarray(start, start + width);
    const best = bestClass(tree, part);
    const whole = tree.divides ? tree.weight[v] : part.reduce((sum, weight) => sum + weight, 0);
    for (let c = 0; c < width; c++) part[c] = tree.weight[v] > 0 ? part[c] / whole : Number(c === best);
  });
  return value;
}

/** Return the index of the heaviest class of one target, or of the class of least expected loss; ties go to the first. */
function bestClass(tree, weights) {
  if (!tree.loss) return weights.indexOf(weights.reduce((a, b) => Math.max(a, b)));
  const expected = Array.from(weights, (_, answer) => expectedLoss(tree, weights, answer));
  const limit = Math.min(...expected) * (1 + 1e-12); // losses that differ by rounding are equal
  return expected.findIndex((loss) => loss <= limit);
}

function expectedLoss(tree, weights, answer) {
  return weights.reduce((sum, weight, truth) => sum + weight * tree.loss[truth][answer], 0);
}

/** Return the index of the predicted class of each target. */
function answersTo(tree, shares) {
  return tree.columns.map((width, target) => bestClass(tree, shares.slice(tree.starts[target], tree.starts[target] + width)));
}

"use strict";
/* The page of one tree.  Read from top to bottom: the data becomes a tree; words and walks, which know no page; the state; what is
   shown where; the drawing; the panels; events.  No name in the data is ever parsed as markup: text is set through textContent. */

// ---------------------------------------------------------------------------------------------------------------- the tree

const THRESHOLD = 1, NOMINAL = 2, CATEGORY = 3, KNOWN = 4, INTERVALS = 5; // kinds of tests, as in Tree.kind
const SHARES = -1, STOP = -2; // where a missing value goes, besides a branch

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
  readValues(data, tree);
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

function readValues(data, tree) {
  const { n, k } = tree;
  tree.value = new Float64Array(n * k);
  for (let v = n - 1; v >= 0; v--) {
    const given = data.value[v];
    if (tree.isRegression) {
      tree.value.set(given, v * k);
    } else if (given !== 0) {
      for (let i = 0; i < given.length; i += 2) tree.value[v * k + given[i]] = given[i + 1];
    } else {
      for (const child of childrenOf(tree, v)) {
        if (tree.weight[child] > 0) for (let c = 0; c < k; c++) tree.value[v * k + c] += tree.value[child * k + c];
      }
    }
  }
  tree.range = tree.columns.map((_, target) => {
    let low = Infinity, high = -Infinity;
    for (let v = 0; v < n; v++) {
      low = Math.min(low, tree.value[v * k + target]);
      high = Math.max(high, tree.value[v * k + target]);
    }
    return [low, high];
  });
}

/** Of a node with a branch per category, the leaves that no sample reached are shown as one: they all answer alike. */
function groupEmptyLeaves(tree) {
  tree.groups = new Map(); // the leaf that is shown: all that it stands for
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

/** Nodes from the root to v. */
function pathTo(tree, v) {
  const path = [];
  for (; v >= 0; v = tree.parent[v]) path.push(v);
  return path.reverse();
}

// ------------------------------------------------------------------------------------------------------------- predictions

/** Branch of a value at a node, -1 if the test says nothing on it.  Categories are codes from 1 on; missing is NaN. */
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

/** Part of a sample that a soft threshold sends to the first branch (Quinlan 1993, chapter 8; the 0.001 is his program's). */
function firstPart([lower, upper], threshold, x) {
  if (x <= lower) return 1;
  if (x <= threshold) return 1 - 0.5 * (0.5 * x - 0.5 * lower) / (0.5 * threshold - 0.5 * lower + 0.0005);
  if (x < upper) return 0.5 - 0.5 * (0.5 * x - 0.5 * threshold) / (0.5 * upper - 0.5 * threshold + 0.0005);
  return 0;
}

/** Where a node sends a sample: by what ("soft", "value", "surrogate", "missing", "shares", "stop"), and which part of it to which branch. */
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

/** Every node that a sample reaches, parents first: the part of it that arrives, and what is decided there (null: it ends). */
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

/** Class shares of all targets side by side, or means, of what a sample reaches. */
function predict(tree, visits) {
  const ends = visits.filter((visit) => !visit.decision || !visit.decision.parts.length);
  if (ends.length === 1) return sharesOf(tree, ends[0].node);
  const sum = new Float64Array(tree.k);
  for (const { node, part } of ends) sharesOf(tree, node).forEach((share, c) => { sum[c] += part * share; });
  return sum;
}

/** What a node predicts: class shares, or means.  All that of an empty leaf goes to its answer. */
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

/** Index of the largest class of one target, or of that of least expected loss; the first of equal ones. */
function bestClass(tree, weights) {
  if (!tree.loss) return weights.indexOf(weights.reduce((a, b) => Math.max(a, b)));
  const expected = Array.from(weights, (_, answer) => expectedLoss(tree, weights, answer));
  const limit = Math.min(...expected) * (1 + 1e-12); // losses that differ by rounding are equal
  return expected.findIndex((loss) => loss <= limit);
}

function expectedLoss(tree, weights, answer) {
  return weights.reduce((sum, weight, truth) => sum + weight * tree.loss[truth][answer], 0);
}

/** Index of the class that a prediction answers for each target. */
function answersTo(tree, shares) {
  return tree.columns.map((width, target) => bestClass(tree, shares.slice(tree.starts[target], tree.starts[target] + width)));
}

// ------------------------------------------------------------------------------------------------------------------- words

/** At most so many digits after the point, no trailing zeros. */
function fixed(number, decimals) {
  if (Math.abs(number) >= 1e15) return number.toPrecision(6);
  const text = number.toFixed(decimals);
  if (Number(text) === 0) return number ? number.toPrecision(1) : "0";
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** As `fixed`; below 1, where targets may be tiny, significant digits count. */
// Where all samples together weigh next to nothing, digits after the point tell none apart.
function weightFigure(tree, weight) {
  return tree.weighsLittle ? String(Number(weight.toPrecision(tree.decimals + 1))) : fixed(weight, tree.decimals);
}

function meanText(number, decimals) {
  if (Math.abs(number) >= 1 || number === 0) return fixed(number, decimals);
  return String(Number(number.toPrecision(Math.max(decimals, 1))));
}

/** A share in percent: what is not all does not read as all, nor what is there as nothing. */
function percent(share) {
  if ((share > 0 && share < 0.001) || (share > 0.999 && share < 1)) return share < 0.5 ? "<0.1 %" : ">99.9 %";
  return `${fixed(100 * share, share < 0.01 || share > 0.99 ? 1 : 0)} %`;
}

function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

function setText(tree, names) {
  const most = tree.maxCategories;
  if (names.length === 1) return `= ${names[0]}`;
  const shown = names.length <= most + 1 ? names.join(", ") : `${names.slice(0, most).join(", ")}, … ${names.length - most} more`;
  return `in {${shown}}`;
}

function categoryNames(tree, feature, codes) {
  return codes.map((code) => tree.features[feature].categories[code - 1]);
}

/** Text of a threshold or a cut; of an ordinal feature the last category below it. */
function placeText(tree, feature, number, text) {
  return tree.features[feature].ordinal ? tree.features[feature].categories[Math.floor(number) - 1] : text;
}

/** Codes that a test by table sends to a branch. */
function codesTo(table, branch) {
  return [...table].filter(([, to]) => to === branch).map(([code]) => code);
}

/** What leads from a node to a branch: with `name` in its place. */
function branchText(tree, v, b, name = "") {
  const feature = tree.feature[v];
  const lead = name ? `${name} ` : "";
  switch (tree.kind[v]) {
    case KNOWN: return `${lead}is ${b ? "missing" : "known"}`;
    case THRESHOLD: {
      if (b === 2) return `${lead}is missing`;
      const place = placeText(tree, feature, tree.threshold[v], tree.text.get(v));
      return `${lead}${b ? ">" : "≤"} ${place}${b ? "" : softText(tree, v)}`;
    }
    case INTERVALS: {
      const { places, texts } = tree.cuts.get(v);
      const at = (i) => placeText(tree, feature, places[i], texts[i]);
      if (b === 0) return `${lead}≤ ${at(0)}`;
      return b === places.length ? `${lead}> ${at(b - 1)}` : `${at(b - 1)} < ${name || "x"} ≤ ${at(b)}`;
    }
    case CATEGORY: {
      const categories = tree.features[feature].categories;
      if (b >= categories.length) return `${lead}is missing`;
      const group = tree.groups.get(tree.firstChild[v] + b) ?? [tree.firstChild[v] + b];
      return lead + setText(tree, group.map((child) => categories[child - tree.firstChild[v]]));
    }
    default: {
      const names = categoryNames(tree, feature, codesTo(tree.table.get(v), b));
      return names.length || b !== tree.missing[v] ? lead + setText(tree, names) : `${lead}is missing`;
    }
  }
}

function softText(tree, v) {
  const [lower, upper] = tree.soft.get(v) ?? [0, 0];
  if (!(lower < upper) || tree.features[tree.feature[v]].ordinal) return "";
  const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(upper - lower)), 0), 9);
  return ` [${fixed(lower, decimals)}, ${fixed(upper, decimals)}]`;
}

function branchOf(tree, v) {
  return v - tree.firstChild[tree.parent[v]];
}

/** The condition by which a sample came to a node from its parent. */
function conditionText(tree, v) {
  const parent = tree.parent[v];
  return parent < 0 ? "all samples" : branchText(tree, parent, branchOf(tree, v), tree.features[tree.feature[parent]].name);
}

/** Whether missing values come here, although another branch is heavier: what a reader would not expect. */
function takesMissing(tree, v) {
  const parent = tree.parent[v];
  if (parent < 0 || tree.missing[parent] !== branchOf(tree, v) || conditionText(tree, v).endsWith(" is missing")) return false;
  return childrenOf(tree, parent).some((child) => tree.weight[child] > tree.weight[v]);
}

/** Where a missing value of the tested feature goes, as a sentence. */
function missingText(tree, v) {
  const surrogates = tree.surrogates.has(v) ? "If no surrogate decides either, a sample" : "A sample without a value";
  const branch = tree.missing[v];
  if (branch === STOP) return `${surrogates} stops here and gets this node's answer.`;
  if (branch === SHARES) {
    const weights = childrenOf(tree, v).map((child) => weightFigure(tree, tree.weight[child]));
    return `${surrogates} goes down every branch in part, as ${weights.join(" : ")}.`;
  }
  return `${surrogates} takes the branch “${branchText(tree, v, branch, tree.features[tree.feature[v]].name)}”.`;
}

function surrogateText(tree, surrogate, branch) {
  const { feature, kind } = surrogate;
  const name = tree.features[feature].name;
  if (kind === NOMINAL) return `${name} ${setText(tree, categoryNames(tree, feature, codesTo(surrogate.table, branch)))}`;
  return `${name} ${surrogate.low === branch ? "≤" : ">"} ${placeText(tree, feature, surrogate.threshold, surrogate.text)}`;
}

/** Of each target what a node, or a prediction, answers. */
function answerTexts(tree, shares) {
  if (tree.isRegression) return Array.from(shares, (mean) => meanText(mean, tree.decimals));
  return answersTo(tree, shares).map((c, target) => tree.targets[target].classes[c]);
}

function weightText(tree, v) {
  return weightFigure(tree, tree.weight[v]);
}

/** How much of a node's weight its answer has: "49 of 54"; of regression the weight alone. */
function supportText(tree, v) {
  if (tree.isRegression || tree.columns.length > 1) return weightText(tree, v);
  const value = tree.value.slice(v * tree.k, (v + 1) * tree.k);
  const share = value[bestClass(tree, value)];
  const whole = value.reduce((sum, weight) => sum + weight, 0);
  return tree.weight[v] === 0 || share === whole ? weightText(tree, v) : `${weightFigure(tree, share)} of ${weightText(tree, v)}`;
}

// ------------------------------------------------------------------------------------------------------------------- rules

/** What the path to a node asks of each feature: an interval, or codes, and whether a missing value fits: "yes", "part", "no", "only". */
function requirements(tree, v) {
  const found = new Map();
  for (const node of pathTo(tree, v).slice(1)) {
    const parent = tree.parent[node], feature = tree.feature[parent];
    if (!found.has(feature)) {
      const codes = tree.features[feature].categories?.map((_, i) => i + 1);
      found.set(feature, { low: -Infinity, high: Infinity, lowText: "", highText: "", codes, all: codes?.length, missing: "yes" });
    }
    narrow(tree, parent, branchOf(tree, node), found.get(feature));
  }
  return found;
}

function narrow(tree, v, b, need) {
  if (branchText(tree, v, b) === "is missing") {
    need.missing = "only";
    return;
  }
  if (tree.missing[v] !== b) need.missing = tree.missing[v] === SHARES && need.missing !== "no" ? "part" : "no";
  if (tree.kind[v] === KNOWN) return;
  const ends = endsOf(tree, v, b);
  if (need.codes) {
    const groups = tree.groups.get(tree.firstChild[v] + b) ?? [tree.firstChild[v] + b];
    const goesThere = (code) => groups.includes(tree.firstChild[v] + knownBranch(tree, v, code));
    need.codes = need.codes.filter(ends ? (code) => code > ends.low && code <= ends.high : goesThere);
    return;
  }
  if (ends.low > need.low) [need.low, need.lowText] = [ends.low, ends.lowText];
  if (ends.high < need.high) [need.high, need.highText] = [ends.high, ends.highText];
}

/** The interval that a branch of a threshold or of cuts takes; null for tests by category. */
function endsOf(tree, v, b) {
  if (tree.kind[v] !== THRESHOLD && tree.kind[v] !== INTERVALS) return null;
  const { places, texts } = tree.cuts.get(v) ?? { places: [tree.threshold[v]], texts: [tree.text.get(v)] };
  return { low: places[b - 1] ?? -Infinity, high: places[b] ?? Infinity, lowText: texts[b - 1] ?? "", highText: texts[b] ?? "" };
}

/** The conditions of a node's path, one per feature. */
function ruleConditions(tree, v) {
  return Array.from(requirements(tree, v), ([feature, need]) => {
    const { name } = tree.features[feature];
    if (need.missing === "only") return `${name} is missing`;
    const missing = { yes: " or missing", part: " or, in part, missing", no: "" }[need.missing];
    if (need.codes?.length < need.all) return `${name} ${setText({ maxCategories: Infinity }, categoryNames(tree, feature, need.codes))}${missing}`;
    if (need.lowText && need.highText) return `${need.lowText} < ${name} <= ${need.highText}${missing}`;
    if (need.lowText) return `${name} > ${need.lowText}${missing}`;
    if (need.highText) return `${name} <= ${need.highText}${missing}`;
    return missing ? "" : `${name} is known`;
  }).filter(Boolean);
}

function ruleText(tree, v) {
  const conditions = ruleConditions(tree, v);
  const answer = answerTexts(tree, sharesOf(tree, v)).join(" | ");
  return `${conditions.length ? `if ${conditions.join("\nand ")}\nthen` : "always"} ${answer} (${supportText(tree, v)})`;
}

/** A sample that reaches a node, with as few digits as will do; what the path does not ask is missing. */
function sampleFor(tree, v) {
  const sample = tree.features.map(() => NaN);
  for (const [feature, need] of requirements(tree, v)) {
    if (need.missing !== "only") sample[feature] = need.codes ? need.codes[0] ?? NaN : roundBetween(need.low, need.high);
  }
  return sample;
}

/** The number of fewest digits in (low, high], near the middle. */
function roundBetween(low, high) {
  if (low === -Infinity && high === Infinity) return 0;
  const from = low === -Infinity ? high - Math.abs(high) / 5 : low;
  const middle = high === Infinity ? low + (Math.abs(low) / 10 || 1) : from + (high - from) / 2;
  for (let digits = 1; digits < 17; digits++) {
    const round = Number(middle.toPrecision(digits));
    if (round > low && round <= high) return round;
  }
  return high === Infinity ? middle : high;
}

// ------------------------------------------------------------------------------------------------------------------ layout

/** Positions across the levels, relative to the root, so that subtrees stand as close as their outlines allow.

    `order` holds the nodes that are shown, parents first; `half` says how far each reaches to either side.  Each pair of neighbours
    is compared level by level along its outlines; where one ends, a thread leads on to what lies below in the other, so that
    all takes time linear in the nodes (Reingold and Tilford 1981; van der Ploeg 2014).  No recursion: a path may be very long. */
function tidy(order, childrenOf, half, gap) {
  const n = order.reduce((most, v) => Math.max(most, v), 0) + 1;
  const at = new Float64Array(n); // of a node from its parent
  const pair = (make) => [make(), make()]; // on the left and on the right
  const end = pair(() => new Int32Array(n)), endAt = pair(() => new Float64Array(n)); // where the outlines of each subtree end
  const thread = pair(() => new Int32Array(n).fill(-1)), threadBy = pair(() => new Float64Array(n)); // and where they go on
  let next = -1, nextAt = 0;

  /** The next node of an outline, and where it is; -1 at its end. */
  const follow = (side, v, x) => {
    const children = childrenOf(v);
    next = children.length ? children[side ? children.length - 1 : 0] : thread[side][v];
    nextAt = x + (children.length ? at[next] : threadBy[side][v]);
  };

  /** Push a subtree to the right of those before it; the outlines of the forest are kept with its first subtree. */
  const placeBeside = (first, last, subtree) => {
    let right = last, rightAt = at[last], left = subtree, leftAt = 0;
    let shift = -Infinity;
    let below, belowAt, beside, besideAt;
    for (;;) {
      shift = Math.max(shift, rightAt + half(right) + gap + half(left) - leftAt);
      follow(1, right, rightAt);
      [below, belowAt] = [next, nextAt];
      follow(0, left, leftAt);
      [beside, besideAt] = [next, nextAt];
      if (below < 0 || beside < 0) break;
      [right, rightAt, left, leftAt] = [below, belowAt, beside, besideAt];
    }
    at[subtree] = shift;
    if (beside >= 0) { // the subtree is deeper: the forest's left outline goes on in it
      thread[0][end[0][first]] = beside;
      threadBy[0][end[0][first]] = besideAt + shift - endAt[0][first];
      [end[0][first], endAt[0][first]] = [end[0][subtree], endAt[0][subtree] + shift];
    }
    if (below >= 0) { // the forest is deeper: the subtree's right outline goes on in it
      thread[1][end[1][subtree]] = below;
      threadBy[1][end[1][subtree]] = belowAt - endAt[1][subtree] - shift;
    } else {
      [end[1][first], endAt[1][first]] = [end[1][subtree], endAt[1][subtree] + shift];
    }
  };

  for (let i = order.length - 1; i >= 0; i--) {
    const v = order[i];
    const children = childrenOf(v);
    end[0][v] = end[1][v] = v;
    if (!children.length) continue;
    const first = children[0];
    at[first] = 0;
    for (let c = 1; c < children.length; c++) placeBeside(first, children[c - 1], children[c]);
    const middle = at[children[children.length - 1]] / 2;
    for (const child of children) at[child] -= middle;
    for (const side of [0, 1]) [end[side][v], endAt[side][v]] = [end[side][first], endAt[side][first] - middle];
  }
  const x = new Float64Array(n);
  for (const v of order) for (const child of childrenOf(v)) x[child] = x[v] + at[child];
  return x;
}

// ------------------------------------------------------------------------------------------------------- state, what is shown

const $ = (id) => document.getElementById(id);
const tree = readTree(JSON.parse($("data").textContent));
const state = {
  open: new Set(), // nodes whose children are shown
  step: 0, // of the pruning sequence: 0 is the tree itself
  selected: 0,
  upright: true, // the root above, else on the left
  matches: [], current: -1, // nodes that the search found, and which of them is looked at
  sample: null, visits: new Map(), // values that are followed, and the visits of nodes
};

// short forms, for the page's own tree
const answerOf = (v) => answerTexts(tree, sharesOf(tree, v)).join(" | ");
const testedBy = (v) => tree.features[tree.feature[v]].name;
const supportOf = (v) => supportText(tree, v);
const cameBy = (v) => `${conditionText(tree, v)}${takesMissing(tree, v) ? " or missing" : ""}`;
const leavesText = (n) => count(n, "leaf", "leaves");

function isLeaf(v) {
  return !tree.branches[v] || tree.collapsedAt[v] <= state.step;
}

/** Children as they are shown where a node is open: a group of empty leaves as one, at the end. */
function items(v) {
  if (tree.kind[v] !== CATEGORY) return childrenOf(tree, v);
  const children = childrenOf(tree, v).filter((child) => tree.standIn[child] === child);
  return [...children.filter((child) => !tree.groups.has(child)), ...children.filter((child) => tree.groups.has(child))];
}

function shownChildren(v) {
  return !isLeaf(v) && state.open.has(v) ? items(v) : [];
}

/** Nodes below each node that the pruning leaves, and the leaves among them, itself included. */
const remains = { nodes: new Int32Array(tree.n), leaves: new Int32Array(tree.n) };

function countRemains() {
  remains.nodes.fill(0);
  remains.leaves.fill(0);
  for (let v = tree.n - 1; v >= 0; v--) {
    if (isLeaf(v)) [remains.nodes[v], remains.leaves[v]] = [0, 1];
    if (!v) break;
    remains.nodes[tree.parent[v]] += remains.nodes[v] + 1;
    remains.leaves[tree.parent[v]] += remains.leaves[v];
  }
}

/** Nodes in sight, each before its children, as they are read. */
function shownNodes() {
  const order = [];
  for (const waiting = [0]; waiting.length;) {
    const v = waiting.pop();
    order.push(v);
    const children = shownChildren(v);
    for (let c = children.length - 1; c >= 0; c--) waiting.push(children[c]);
  }
  return order;
}

function colourOf(v) {
  const { colours } = tree.targets[0];
  return tree.isRegression ? colours[0] : colours[answersTo(tree, sharesOf(tree, v))[0]];
}

/** How sure the answer is, from 0 to 1: of a mean, how large. */
function certaintyOf(v) {
  const shares = sharesOf(tree, v);
  if (tree.isRegression) {
    const [low, high] = tree.range[0];
    return high > low ? (shares[0] - low) / (high - low) : 0.5;
  }
  const width = tree.columns[0];
  return width > 1 ? Math.max((Math.max(...shares.subarray(0, width)) - 1 / width) / (1 - 1 / width), 0) : 1;
}

// sizes of the drawing, in its own units: pixels at zoom 1
const PAD = 12, BAR = 5, BARS = Math.min(tree.columns.length, 4), BOX_HEIGHT = 49 + BARS * (BAR + 3);
const LEAST_BOX = 92, MOST_BOX = 214, MOST_CONDITION = 190, KNOB = 8, BEND = 30, SIBLINGS = 14;
const NAME_FONT = "600 13px", TEXT_FONT = "12px", NUMBER_FONT = "10px";

const pen = document.createElement("canvas").getContext("2d");
const sans = getComputedStyle(document.documentElement).fontFamily;
const lengths = new Map();

function textLength(text, font) {
  const key = font + text;
  if (!lengths.has(key)) {
    pen.font = `${font} ${sans}`;
    lengths.set(key, pen.measureText(text).width);
  }
  return lengths.get(key);
}

/** As much of a text as fits, with an ellipsis where something is left out. */
function clip(text, most, font) {
  if (textLength(text, font) <= most) return text;
  let fits = 0;
  for (let step = 1 << 10; step; step >>= 1) {
    if (fits + step < text.length && textLength(`${text.slice(0, fits + step).trimEnd()}…`, font) <= most) fits += step;
  }
  return `${text.slice(0, fits).trimEnd()}…`;
}

let faces = new Map(); // what boxes say, until the pruning changes

/** The words in a box and beside it, clipped, and their sizes. */
function faceOf(v) {
  if (faces.has(v)) return faces.get(v);
  const leaf = isLeaf(v);
  const number = `#${v}`;
  const aside = textLength(number, NUMBER_FONT) + 10;
  const most = MOST_BOX - 2 * PAD;
  const name = clip(leaf ? answerOf(v) : testedBy(v), most - aside, NAME_FONT);
  const support = `${supportOf(v)}${tree.isRegression ? (tree.weight === tree.samples ? " samples" : " in weight") : ""}`;
  const lesser = clip(leaf ? support : `${answerOf(v)} · ${supportOf(v)}`, most, TEXT_FONT);
  const parent = tree.parent[v];
  const condition = parent < 0 ? "" : clip(branchText(tree, parent, branchOf(tree, v)), MOST_CONDITION, TEXT_FONT);
  const needed = Math.max(textLength(name, NAME_FONT) + aside, textLength(lesser, TEXT_FONT)) + 2 * PAD;
  const conditionWidth = condition ? textLength(condition, TEXT_FONT) + (takesMissing(tree, v) ? 14 : 0) : 0;
  const face = { leaf, name, number, lesser, condition, conditionWidth, width: Math.max(LEAST_BOX, Math.ceil(needed)) };
  faces.set(v, face);
  return face;
}

/** Places of all nodes in sight: the left upper corners of their boxes, and the bounds of everything. */
function arrange(upright) {
  const order = shownNodes();
  const children = new Map(order.map((v) => [v, shownChildren(v)]));
  const half = upright
    ? (v) => Math.max(faceOf(v).width, faceOf(v).conditionWidth) / 2
    : () => BOX_HEIGHT / 2;
  const across = tidy(order, (v) => children.get(v), half, SIBLINGS);
  const levels = levelPlaces(order, upright);
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const place = new Map();
  for (const v of order) {
    const { width } = faceOf(v);
    const { start } = levels[tree.depth[v]];
    const at = upright ? { x: across[v] - width / 2, y: start } : { x: start, y: across[v] - BOX_HEIGHT / 2 };
    place.set(v, at);
    const aside = upright ? Math.max(half(v), width / 2) : width;
    bounds.left = Math.min(bounds.left, upright ? across[v] - aside : at.x);
    bounds.right = Math.max(bounds.right, upright ? across[v] + aside : at.x + width + 3 * KNOB);
    bounds.top = Math.min(bounds.top, at.y);
    bounds.bottom = Math.max(bounds.bottom, at.y + BOX_HEIGHT + (upright ? 2 * KNOB : 0));
  }
  return { order, children, place, levels, bounds, upright };
}

/** Where each level starts, and how much room the conditions before it have. */
function levelPlaces(order, upright) {
  const levels = [];
  for (const v of order) {
    const level = (levels[tree.depth[v]] ??= { width: 0, room: 0, start: 0 });
    level.width = Math.max(level.width, faceOf(v).width);
    level.room = Math.max(level.room, faceOf(v).conditionWidth);
  }
  for (let d = 1; d < levels.length; d++) {
    const before = levels[d - 1];
    if (upright) levels[d].start = before.start + BOX_HEIGHT + KNOB + BEND + 22;
    else levels[d].start = before.start + before.width + KNOB + BEND + levels[d].room + 16;
  }
  return levels;
}

// ------------------------------------------------------------------------------------------------------------- the drawing

const SVG = "http://www.w3.org/2000/svg";
const svg = $("tree"), stage = $("stage");
const drawn = { nodes: new Map(), edges: new Map(), far: [] }; // elements by node, and those of a tree seen from afar
const ALL_DRAWN = 900; // nodes in sight that are all drawn; of more only those on the screen are
const FAR = 1400; // nodes on the screen that are no longer drawn one by one
let sheet = null; // the latest arrangement
const view = { zoom: 1, x: 0, y: 0, isFitted: false }; // fitted until it is moved

function make(name, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

/** Arrange and draw anew; `still` without a glide of nodes to their places. */
function redraw({ still = false } = {}) {
  svg.classList.toggle("moving", !still);
  svg.classList.toggle("following", state.visits.size > 0);
  sheet = arrange(state.upright);
  draw();
}

/** Bring the elements up to what is in sight.  Those that stay are kept, and with them the focus. */
function draw({ everything = false } = {}) {
  const { nodes, edges, isFar } = inSight(everything);
  keep(drawn.nodes, nodes, $("nodes"), nodeElement);
  keep(drawn.edges, edges, $("edges"), edgeElement);
  drawn.far.forEach((element) => element.remove());
  drawn.far = isFar ? farElements() : [];
  drawn.far.forEach((element) => $("edges").append(element));
}

function inSight(everything) {
  const { order, place, upright } = sheet;
  const children = order.slice(1);
  if (everything || order.length <= ALL_DRAWN) return { nodes: order, edges: children, isFar: false };
  const margin = 240 / view.zoom;
  const left = -view.x / view.zoom - margin, right = (stage.clientWidth - view.x) / view.zoom + margin;
  const top = -view.y / view.zoom - margin, bottom = (stage.clientHeight - view.y) / view.zoom + margin;
  const seen = order.filter((v) => {
    const { x, y } = place.get(v);
    return x < right && x + MOST_BOX > left && y < bottom && y + BOX_HEIGHT > top;
  });
  if (seen.length > FAR) return { nodes: [state.selected], edges: [], isFar: true };
  const crossing = children.filter((v) => {
    const a = place.get(v), b = place.get(tree.parent[v]);
    if (Math.min(a.x, b.x) >= right || Math.max(a.x, b.x) + MOST_BOX <= left) return false;
    return Math.min(a.y, b.y) < bottom && Math.max(a.y, b.y) + BOX_HEIGHT > top;
  });
  const isSeen = new Set(seen).add(state.selected); // what has the focus stays
  return { nodes: order.filter((v) => isSeen.has(v)), edges: crossing, isFar: false, upright };
}

function keep(elements, wanted, layer, update) {
  const isWanted = new Set(wanted);
  for (const [v, element] of elements) {
    if (isWanted.has(v)) continue;
    element.remove();
    elements.delete(v);
  }
  let before = layer.firstChild;
  for (const v of wanted) {
    const old = elements.get(v);
    const element = update(v, old);
    if (!old) {
      elements.set(v, element);
      layer.insertBefore(element, before);
    }
    before = element.nextSibling;
  }
}

function nodeElement(v, old) {
  const node = old ?? make("g", { id: `node-${v}`, class: "node", role: "treeitem" });
  const face = faceOf(v);
  const visit = state.visits.get(v);
  const { x, y } = sheet.place.get(v);
  node.style.transform = `translate(${x}px, ${y}px)`;
  const isOpen = sheet.children.get(v).length > 0;
  const looks = [face.leaf, isOpen, sheet.upright, visit?.part, state.step].join();
  if (node.looks !== looks) {
    node.looks = looks;
    node.replaceChildren(...boxParts(v, face, isOpen, visit));
  }
  node.classList.toggle("new", !old);
  node.classList.toggle("passed", Boolean(visit));
  node.classList.toggle("match", state.matchSet?.has(v) ?? false);
  node.classList.toggle("current", state.matches[state.current] === v);
  describe(node, v, face, isOpen, visit);
  return node;
}

/** What a screen reader is told of a node. */
function describe(node, v, face, isOpen, visit) {
  const parent = tree.parent[v];
  const siblings = parent < 0 ? [v] : sheet.children.get(parent);
  const attributes = {
    "aria-label": labelOf(v, face, isOpen, visit),
    "aria-level": tree.depth[v] + 1, "aria-setsize": siblings.length, "aria-posinset": siblings.indexOf(v) + 1,
    "aria-selected": v === state.selected, tabindex: v === state.selected ? 0 : -1,
  };
  if (!face.leaf) attributes["aria-expanded"] = isOpen;
  else node.removeAttribute("aria-expanded");
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

/** A condition as it is said. */
function spoken(condition) {
  return condition.replace(/^(\S+) < (.*) ≤ /, "$2 above $1 and at most ").replace(" ≤ ", " at most ").replace(/^(.*) > /, "$1 above ");
}

function labelOf(v, face, isOpen, visit) {
  const outcome = `${answerOf(v)}, ${supportOf(v)}`;
  const parts = [`${spoken(conditionText(tree, v))}${takesMissing(tree, v) ? ", or missing" : ""}`];
  parts.push(face.leaf ? `leaf, ${outcome}` : `tests ${testedBy(v)}; answer here ${outcome}`);
  if (!face.leaf && !isOpen) parts.push(`${count(remains.nodes[v], "node")} below`);
  if (visit) parts.push(visit.part < 1 ? `on the path, ${percent(visit.part)} of the sample` : "on the path");
  if (state.matchSet?.has(v)) parts.push("found");
  return `${parts.join("; ")}; node ${v}`;
}

function boxParts(v, face, isOpen, visit) {
  const { width } = face;
  const round = face.leaf ? 14 : 7;
  const box = { width, height: BOX_HEIGHT, rx: round };
  const colour = colourOf(v);
  const parts = [
    make("title", {}, [cameBy(v), ...(face.leaf ? [] : [`tests ${testedBy(v)}`]), `${answerOf(v)} (${supportOf(v)})`].join("\n")),
    make("rect", { class: "halo", x: -4, y: -4, width: width + 8, height: BOX_HEIGHT + 8, rx: round + 4 }),
    make("rect", { class: "ring", x: -1, y: -1, width: width + 2, height: BOX_HEIGHT + 2, rx: round + 1 }),
    make("rect", { class: "box", ...box }),
    make("rect", { class: "tint", ...box, fill: colour, "fill-opacity": (0.06 + 0.36 * certaintyOf(v)).toFixed(3) }),
    make("text", { class: "name", x: PAD, y: 20 }, face.name),
    make("text", { class: "number", x: width - 9, y: 18 }, face.number),
    make("text", { class: "lesser", x: PAD, y: 37 }, face.lesser),
    ...bars(v, width),
    ...conditionParts(v, face),
  ];
  if (!face.leaf) parts.push(knob(v, width, isOpen));
  if (visit && visit.part < 1) parts.push(partBadge(visit.part, width));
  return parts;
}

function conditionParts(v, face) {
  if (!face.condition) return [];
  const spot = sheet.upright
    ? { class: "condition centred", x: face.width / 2, y: -9 }
    : { class: "condition end", x: -6, y: BOX_HEIGHT / 2 - edgeWidth(v) / 2 - 5 };
  const text = make("text", spot, face.condition);
  if (takesMissing(tree, v)) text.append(make("tspan", { class: "sign", dx: 5 }, "∅"));
  if (!sheet.upright) return [text];
  const room = face.conditionWidth + 6; // where the branch is not seen
  return [make("rect", { class: "plate", x: (face.width - room) / 2, y: -21, width: room, height: 15, rx: 4 }), text];
}

/** A bar per target: the shares of its classes; of a mean, where it lies among all. */
function bars(v, width) {
  const shares = sharesOf(tree, v);
  const length = width - 2 * PAD;
  return tree.columns.slice(0, BARS).flatMap((columns, target) => {
    const y = 45 + target * (BAR + 3);
    const track = make("rect", { class: "track", x: PAD, y, width: length, height: BAR, rx: 2 });
    return [track, ...barParts(shares.subarray(tree.starts[target], tree.starts[target] + columns), target, length, y)];
  });
}

function barParts(shares, target, length, y) {
  const { colours } = tree.targets[target];
  if (tree.isRegression) {
    const [low, high] = tree.range[target];
    const part = high > low ? (shares[0] - low) / (high - low) : 0.5;
    return [make("rect", { x: PAD, y, width: Math.max(part * length, 2).toFixed(1), height: BAR, rx: 2, fill: colours[0] })];
  }
  const parts = [];
  let x = PAD, rest = 0;
  shares.forEach((share, c) => {
    if (share * length < 1) {
      rest += share; // too thin to be told apart
      return;
    }
    parts.push(make("rect", { x: x.toFixed(1), y, width: (share * length).toFixed(1), height: BAR, fill: colours[c] }));
    x += share * length;
  });
  if (rest * length >= 1) {
    parts.push(make("rect", { class: "rest", x: x.toFixed(1), y, width: (rest * length).toFixed(1), height: BAR }));
  }
  return parts;
}

/** What folds and unfolds: a minus, or how many nodes are hidden. */
function knob(v, width, isOpen) {
  const text = isOpen ? "−" : `+${remains.nodes[v]}`;
  const length = Math.max(2 * KNOB, textLength(text, "600 11px") + 9);
  const centre = sheet.upright ? { x: width / 2, y: BOX_HEIGHT } : { x: width + length / 2 - KNOB, y: BOX_HEIGHT / 2 };
  const group = make("g", { class: "knob", "aria-hidden": true });
  group.append(
    make("rect", { class: "knob-shape", x: centre.x - length / 2, y: centre.y - KNOB, width: length, height: 2 * KNOB, rx: KNOB }),
    make("text", { x: centre.x, y: centre.y + 4 }, text),
  );
  return group;
}

function partBadge(part, width) {
  const text = percent(part);
  const length = textLength(text, "600 11px") + 10;
  const badge = make("g", { class: "part" });
  badge.append(
    make("rect", { x: width - length + 8, y: BOX_HEIGHT - 9, width: length, height: 17, rx: 8.5 }),
    make("text", { x: width + 8 - length / 2, y: BOX_HEIGHT + 3.5 }, text),
  );
  return badge;
}

/** The more samples took a branch, the wider. */
function edgeWidth(v) {
  return Math.max(1.25, 12 * tree.weight[v] / tree.weight[0]);
}

function edgeElement(v, old) {
  const edge = old ?? make("path");
  const isPassed = state.visits.has(v);
  edge.setAttribute("class", `edge${isPassed ? " passed" : ""}${old ? "" : " new"}`);
  edge.setAttribute("d", edgePath(v));
  edge.setAttribute("stroke-width", (isPassed ? Math.max(edgeWidth(v), 3) : edgeWidth(v)).toFixed(2));
  return edge;
}

function edgePath(v) {
  const parent = tree.parent[v];
  const from = sheet.place.get(parent), to = sheet.place.get(v);
  if (sheet.upright) {
    const [x, y] = [from.x + faceOf(parent).width / 2, from.y + BOX_HEIGHT];
    const end = to.x + faceOf(v).width / 2, bend = to.y - 22;
    return `M${x} ${y}C${x} ${(y + bend) / 2 + KNOB} ${end} ${(y + bend) / 2} ${end} ${bend}V${to.y}`;
  }
  const [x, y] = [from.x + faceOf(parent).width, from.y + BOX_HEIGHT / 2];
  const end = to.y + BOX_HEIGHT / 2, bend = to.x - sheet.levels[tree.depth[v]].room - 16;
  return `M${x} ${y}C${(x + bend) / 2 + KNOB} ${y} ${(x + bend) / 2} ${end} ${bend} ${end}H${to.x}`;
}

/** A very large tree from afar: all branches as one path, and all boxes of a colour as one. */
function farElements() {
  const boxes = new Map();
  let lines = "";
  for (const v of sheet.order) {
    const { x, y } = sheet.place.get(v);
    const colour = colourOf(v);
    boxes.set(colour, `${boxes.get(colour) ?? ""}M${x} ${y}h${faceOf(v).width}v${BOX_HEIGHT}h${-faceOf(v).width}z`);
    if (v) lines += edgePath(v);
  }
  const edges = make("path", { class: "edge", d: lines, "stroke-width": 2 });
  return [edges, ...Array.from(boxes, ([fill, d]) => make("path", { class: "far", d, fill }))];
}

// -------------------------------------------------------------------------------------------------------------- zoom and pan

const LEAST_ZOOM = 0.005, MOST_ZOOM = 4, READABLE = 0.7, MARGIN = 28;

function applyView({ glide = false } = {}) {
  view.isFitted = false;
  $("view").classList.toggle("glide", glide);
  $("view").style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.zoom})`;
  if (sheet.order.length > ALL_DRAWN) drawSoon();
}

let isDrawPlanned = false;

function drawSoon() {
  if (isDrawPlanned) return;
  isDrawPlanned = true;
  requestAnimationFrame(() => {
    isDrawPlanned = false;
    svg.classList.remove("moving");
    draw();
  });
}

/** Zoom by a factor; the point (x, y) of the stage stays where it is. */
function zoomBy(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2, options = { glide: true }) {
  const zoom = Math.min(Math.max(view.zoom * factor, LEAST_ZOOM), MOST_ZOOM);
  const ratio = zoom / view.zoom;
  Object.assign(view, { zoom, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio });
  applyView(options);
}

/** The part of the stage that the legend and the buttons leave; these stand on the left of a wide one, on top of a narrow one. */
function freeStage() {
  const isWide = stage.clientWidth > 600;
  const left = isWide ? MARGIN + 40 : 16, top = isWide ? MARGIN : MARGIN + 34;
  const below = $("legend").offsetHeight + 20;
  return { left, top, width: stage.clientWidth - left - (isWide ? MARGIN : 16), height: stage.clientHeight - top - below };
}

function fittingZoom({ left, top, right, bottom }) {
  const { width, height } = freeStage();
  return Math.min(width / (right - left), height / (bottom - top), 1.15);
}

/** Show everything that is unfolded. */
function fit(options = { glide: true }) {
  const { left, top, right, bottom } = sheet.bounds;
  const free = freeStage();
  const zoom = Math.max(fittingZoom(sheet.bounds), LEAST_ZOOM);
  view.zoom = zoom;
  view.x = free.left + free.width / 2 - zoom * (left + right) / 2;
  view.y = free.top + free.height / 2 - zoom * (top + bottom) / 2;
  applyView(options);
  view.isFitted = true;
}

/** Show everything if it can be read so; else the root and what is next to it, at a size that can. */
function home(options = { glide: true }) {
  if (fittingZoom(sheet.bounds) >= READABLE) {
    fit(options);
    return;
  }
  const { left, top, right, bottom } = sheet.bounds;
  const free = freeStage();
  const root = sheet.place.get(0);
  const zoom = 0.85;
  // in the middle if there is room for all, else the root is
  const middle = (start, room, low, high, at) => start + room / 2 - zoom * ((high - low) * zoom <= room ? (low + high) / 2 : at);
  Object.assign(view, sheet.upright
    ? { zoom, x: middle(free.left, free.width, left, right, root.x + faceOf(0).width / 2), y: free.top - zoom * top }
    : { zoom, x: free.left - zoom * left, y: middle(free.top, free.height, top, bottom, root.y + BOX_HEIGHT / 2) });
  applyView(options);
  view.isFitted = true;
}

/** The bounds of some boxes with their conditions. */
function boundsOf(nodes) {
  const boxes = nodes.map((v) => ({ ...sheet.place.get(v), ...faceOf(v) }));
  const before = (box) => (sheet.upright ? Math.max(box.conditionWidth - box.width, 0) / 2 : box.conditionWidth + 8);
  return {
    left: Math.min(...boxes.map((box) => box.x - before(box))), right: Math.max(...boxes.map((box) => box.x + box.width + 12)),
    top: Math.min(...boxes.map((box) => box.y)) - 20, bottom: Math.max(...boxes.map((box) => box.y)) + BOX_HEIGHT + 12,
  };
}

/** Move as little as need be, so that these nodes, and at least the first of them, are in sight. */
function reveal(nodes, options = { glide: true }) {
  const free = freeStage();
  if (view.zoom < READABLE / 2) view.zoom = READABLE;
  for (const { left, top, right, bottom } of [boundsOf(nodes), boundsOf(nodes.slice(0, 1))]) {
    view.x = moved(view.x, left * view.zoom, right * view.zoom, free.left, free.width);
    view.y = moved(view.y, top * view.zoom, bottom * view.zoom, free.top, free.height);
  }
  applyView(options);
}

/** The offset that brings a stretch into the room from `start` on: its beginning, if it is too long. */
function moved(offset, low, high, start, room) {
  if (low + offset < start) return start - low;
  return high + offset > start + room ? Math.max(start + room - high, start - low) : offset;
}

/** Change what is in sight while a node stays where it is on the screen. */
function around(v, change) {
  const before = sheet.place.get(v);
  change();
  redraw();
  const after = sheet.place.get(v);
  if (before && after) {
    view.x += (before.x - after.x) * view.zoom;
    view.y += (before.y - after.y) * view.zoom;
  }
  applyView({ glide: true });
}

// --------------------------------------------------------------------------------------------------- selection and folding

function say(text) {
  $("live").textContent = text;
}

/** Make a node, or what stands for it, the one whose details are shown. */
function select(v, { focus = false, show = true } = {}) {
  const before = state.selected;
  state.selected = tree.standIn[v];
  for (const node of [before, state.selected]) if (drawn.nodes.has(node)) nodeElement(node, drawn.nodes.get(node));
  if (!drawn.nodes.has(state.selected)) draw();
  if (show) reveal([state.selected]);
  if (focus) drawn.nodes.get(state.selected).focus({ preventScroll: true });
  showNode();
}

/** Open all nodes above some, so that they are in sight. */
function openTo(nodes) {
  for (const v of nodes) for (const above of pathTo(tree, v).slice(0, -1)) state.open.add(above);
}

function toggle(v) {
  if (isLeaf(v)) return;
  const opens = !state.open.has(v);
  around(v, () => (opens ? state.open.add(v) : state.open.delete(v)));
  keepSelected(v);
  if (opens) reveal([v, ...shownChildren(v)]);
  say(opens ? `${count(shownChildren(v).length, "branch", "branches")} unfolded` : "folded");
  showNode();
}

/** Fold, or unfold, a node and everything below it. */
function toggleBelow(v, opens = !state.open.has(v)) {
  around(v, () => {
    for (const waiting = [v]; waiting.length;) {
      const node = waiting.pop();
      if (isLeaf(node)) continue;
      if (opens) state.open.add(node);
      else state.open.delete(node);
      waiting.push(...childrenOf(tree, node));
    }
  });
  keepSelected(v);
  say(opens ? "all below unfolded" : "all below folded");
  showNode();
}

/** Where the selected node is no longer in sight, select what hides it. */
function keepSelected() {
  if (sheet.place.has(state.selected)) return;
  const inSightAbove = pathTo(tree, state.selected).filter((v) => sheet.place.has(v));
  select(inSightAbove[inSightAbove.length - 1], { show: false });
}

// -------------------------------------------------------------------------------------------------------- panels: the details

function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== false && value !== null) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

function note(text) {
  return el("p", { class: "note" }, text);
}

function terms(pairs) {
  return pairs.flatMap(([term, text]) => [el("dt", {}, term), el("dd", {}, text)]);
}

function button(text, act, attributes = {}) {
  return el("button", { type: "button", click: act, ...attributes }, text);
}

function swatch(colour) {
  const element = el("span", { class: "swatch", "aria-hidden": "true" });
  element.style.setProperty("--colour", colour);
  return element;
}

function goTo(v) {
  if (!sheet.place.has(tree.standIn[v])) {
    openTo([v]);
    redraw();
  }
  select(v, { focus: true });
}

function showNode() {
  const v = state.selected;
  const leaf = isLeaf(v);
  const name = leaf ? "" : testedBy(v);
  $("panel-node").replaceChildren(
    el("h2", {}, leaf ? `Node ${v}: ${tree.branches[v] ? "pruned to a leaf" : "a leaf"}` : `Node ${v}: ${name}`),
    answerLine(sharesOf(tree, v), leaf ? "Answers " : "Would answer "),
    tree.groups.has(v) ? note(`No training sample had one of these ${tree.groups.get(v).length} categories.`) : "",
    nodeButtons(v, leaf),
    ...shareTables(sharesOf(tree, v), (c) => tree.value[v * tree.k + c]),
    el("h3", {}, "Figures"), figures(v, leaf),
    el("h3", {}, "How samples get here"), pathList(v),
    el("h3", {}, "Rule"), ruleBlock(v),
    ...(leaf ? [] : missingBlock(v)),
  );
}

/** "Answers yes, 62 %" */
function answerLine(shares, lead) {
  const answers = tree.isRegression ? [] : answersTo(tree, shares);
  const words = answerTexts(tree, shares).flatMap((text, target) => {
    const share = tree.isRegression ? "" : `, ${percent(shares[tree.starts[target] + answers[target]])}`;
    return [target ? " and " : "", el("strong", {}, text), share];
  });
  return el("p", { class: "answer" }, lead, ...words);
}

function nodeButtons(v, leaf) {
  const follow = button("Try values that lead here", () => followTo(v));
  if (leaf) return el("div", { class: "buttons" }, follow);
  return el("div", { class: "buttons" },
    button(state.open.has(v) ? "Fold" : "Unfold", () => toggle(v)),
    button("Unfold all below", () => toggleBelow(v, true)), button("Fold all below", () => toggleBelow(v, false)), follow);
}

const MOST_CLASSES = 12;

/** A table per target: share and weight of its classes, the largest first. */
function shareTables(shares, weightOf = null) {
  if (tree.isRegression) return [];
  const right = (text) => el("th", { scope: "col", class: "right" }, text);
  return tree.columns.map((width, target) => {
    const { classes, colours } = tree.targets[target];
    const start = tree.starts[target];
    const present = classes.map((_, c) => c).filter((c) => shares[start + c] > 0);
    present.sort((a, b) => shares[start + b] - shares[start + a]);
    const rows = present.slice(0, MOST_CLASSES).map((c) => shareRow(classes[c], colours[c], shares[start + c], weightOf?.(start + c)));
    const more = present.length - MOST_CLASSES;
    if (more > 0) rows.push(el("tr", {}, el("td", { class: "note", colspan: 4 }, `and ${more} more`)));
    const head = el("tr", {}, el("th", { scope: "col" }, tree.columns.length > 1 ? `Target ${target + 1}` : "Class"),
      el("th", {}, el("span", { class: "unseen" }, "Bar")), right("Share"), weightOf ? right("Weight") : "");
    return el("table", { class: "shares" }, el("thead", {}, head), el("tbody", {}, ...rows));
  });
}

function shareRow(name, colour, share, weight) {
  const meter = make("svg", { "aria-hidden": true });
  const bar = { height: 8, rx: 2 };
  meter.append(make("rect", { class: "track", width: "100%", ...bar }), make("rect", { width: `${100 * share}%`, fill: colour, ...bar }));
  const right = (text) => el("td", { class: "right" }, text);
  return el("tr", {}, el("td", {}, swatch(colour), name), el("td", { class: "meter" }, meter), right(percent(share)),
    weight === undefined ? "" : right(weightFigure(tree, weight)));
}

function figures(v, leaf) {
  const list = [["Samples", tree.samples[v].toLocaleString("en")]];
  if (tree.weight !== tree.samples) list.push(["Weight", weightText(tree, v)]);
  list.push(["Share of all", percent(tree.weight[v] / tree.weight[0])], ["Impurity", fixed(tree.impurity[v], 4)]);
  if (!leaf) list.push(["Gain of the test", fixed(tree.gain[v], 4)]);
  if (!leaf) list.push(["Below", `${count(remains.nodes[v], "node")}, ${leavesText(remains.leaves[v])}`]);
  if (tree.loss) {
    const shares = sharesOf(tree, v);
    list.push(["Expected cost", fixed(expectedLoss(tree, Array.from(shares), bestClass(tree, shares)), 4)]);
  }
  list.push(["Depth", String(tree.depth[v])]);
  return el("dl", { class: "figures" }, ...terms(list));
}

const MOST_STEPS = 60; // of a path that are listed

function pathList(v) {
  const path = pathTo(tree, v).slice(1);
  if (!path.length) return note("All samples start here.");
  const link = (node) => button(cameBy(node), () => goTo(tree.parent[node]), { class: "link", title: `asked at node ${tree.parent[node]}` });
  const first = Math.max(path.length - MOST_STEPS, 0);
  return el("ol", { class: "steps", start: first + 1 }, ...path.slice(first).map((node) => el("li", {}, link(node))));
}

function ruleBlock(v) {
  const text = ruleText(tree, v);
  const copy = button("Copy the rule", async () => {
    const done = await copyText(text);
    copy.textContent = done ? "Copied" : "Select and copy by hand";
    say(done ? "Rule copied" : "The browser refused to copy");
  });
  return el("div", {}, el("div", { class: "rule", id: "rule" }, text), el("div", { class: "buttons" }, copy));
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // no permission, as in a frame: the old way, by a selection
    const range = document.createRange();
    range.selectNodeContents($("rule"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
}

function missingBlock(v) {
  if (tree.kind[v] === KNOWN) return [];
  const feature = testedBy(v);
  const surrogates = tree.surrogates.get(v) ?? [];
  const parts = [el("h3", {}, "Missing values")];
  if (surrogates.length) {
    const asked = branchText(tree, v, 0, feature);
    parts.push(el("p", {}, `Where ${feature} is missing, the first of these that knows decides for “${asked}”:`));
    parts.push(el("ol", { class: "steps" }, ...surrogates.map((surrogate) => el("li", {}, surrogateText(tree, surrogate, 0),
      el("span", { class: "note" }, ` (agreement ${fixed(surrogate.agreement, 3)}, adjusted ${fixed(surrogate.adjusted, 3)})`)))));
  }
  parts.push(el("p", { class: surrogates.length ? "note" : "" }, missingText(tree, v)));
  return parts;
}

// --------------------------------------------------------------------------------------------------------- panels: the sample

const surrogateFeatures = [...tree.surrogates.values()].flat().map((surrogate) => surrogate.feature);
const usedFeatures = [...new Set([...tree.feature, ...surrogateFeatures])].filter((feature) => feature >= 0);
const fields = new Map(); // the control of each feature that the tree looks at
let row = -1; // of the samples that came with the page, which is followed

function buildSample() {
  const panel = $("panel-sample");
  if (!usedFeatures.length) {
    panel.append(el("p", {}, "This tree asks nothing: all samples get the same answer."));
    return;
  }
  const grid = el("div", { class: "fields" });
  usedFeatures.forEach((feature, i) => {
    const control = tree.features[feature].categories ? selectFor(feature) : el("input", { type: "number", step: "any", placeholder: "missing" });
    control.id = `field-${i}`;
    control.addEventListener("input", () => {
      row = -1;
      follow(readFields());
    });
    fields.set(feature, control);
    grid.append(el("label", { for: control.id }, tree.features[feature].name), control);
  });
  const unused = tree.features.length - usedFeatures.length;
  panel.append(
    el("h2", {}, "Follow a sample"),
    tree.rows ? rowChooser() : "",
    el("div", { id: "result" }),
    el("h3", {}, "Values"), grid,
    el("p", { class: "note last" }, "An empty field is a missing value.", unused ? ` The tree never looks at ${count(unused, "other feature")}.` : ""),
    el("div", { class: "buttons" }, button("Stop following", stopFollowing, { id: "stop" })),
    el("div", { id: "way" }),
  );
  writeFields(sampleFor(tree, heaviestLeaf()));
  showResult();
}

function selectFor(feature) {
  const options = tree.features[feature].categories.map((category, i) => el("option", { value: i + 1 }, category));
  const missing = el("option", { value: "" }, "(missing)"), other = el("option", { value: "other" }, "(not seen in training)");
  return el("select", {}, missing, ...options, other);
}

function rowChooser() {
  const { rows } = tree;
  const options = rows.row.map((number, i) => el("option", { value: i }, `row ${number}${rows.truth ? `: ${rows.truth[i]}` : ""}`));
  const some = rows.row.length < rows.of ? ` (${rows.row.length} of ${rows.of.toLocaleString("en")})` : "";
  const chooser = el("select", { id: "row", "aria-label": "Row of the data" }, el("option", { value: -1 }, `row …${some}`), ...options);
  chooser.addEventListener("change", () => followRow(Number(chooser.value)));
  const turn = (by) => () => followRow((row + by + rows.row.length + Number(row < 0 && by < 0)) % rows.row.length);
  return beside("Row before", turn(-1), chooser, "Next row", turn(1));
}

/** A control between buttons to the one before and the next. */
function beside(before, back, control, after, on) {
  return el("div", { class: "stepper" }, button("‹", back, { "aria-label": before }), control, button("›", on, { "aria-label": after }));
}

function readFields() {
  const sample = tree.features.map(() => NaN);
  for (const [feature, control] of fields) sample[feature] = control.value === "" ? NaN : Number(control.value); // "other": NaN
  return sample;
}

function writeFields(sample) {
  for (const [feature, control] of fields) control.value = Number.isNaN(sample[feature]) ? "" : sample[feature];
}

/** Follow a row that came with the page; a number that was in single precision is walked as such, and shown as short as it was. */
function followRow(i) {
  row = i;
  if (row < 0) return stopFollowing();
  const { feature, cell, single } = tree.rows;
  const shown = tree.features.map(() => NaN), sample = shown.slice();
  feature.forEach((j, c) => {
    const number = cell[c][row];
    const isMissing = number === null || (tree.features[j].categories && number === 0);
    shown[j] = isMissing ? NaN : number;
    sample[j] = !isMissing && single[c] ? Math.fround(number) : shown[j];
  });
  writeFields(shown);
  return follow(sample);
}

function followTo(v) {
  row = -1;
  const sample = sampleFor(tree, v);
  writeFields(sample);
  showTab("sample");
  follow(sample);
}

function heaviestLeaf() {
  let v = 0;
  while (tree.branches[v]) v = childrenOf(tree, v).reduce((a, b) => (tree.weight[b] > tree.weight[a] ? b : a));
  return v;
}

function stopFollowing() {
  row = -1;
  state.sample = null;
  state.visits = new Map();
  redraw();
  showResult();
  showNode();
}

/** Walk a sample down the tree, open what it passes, and tell what it is answered. */
function follow(sample) {
  state.sample = sample;
  const visits = walk(tree, sample, isLeaf);
  state.visits = new Map(visits.map((visit) => [tree.standIn[visit.node], visit]));
  const most = visits.reduce((a, b) => (ends(b) && (!ends(a) || b.part > a.part) ? b : a));
  openTo(visits.filter((visit) => visit.part > 0.02 || visit === most).slice(0, 200).map((visit) => visit.node));
  redraw();
  showWay(most.node);
  showResult(visits);
  showNode();
}

/** Bring the path to a node into sight, from further away if it can still be read from there. */
function showWay(v) {
  const way = pathTo(tree, tree.standIn[v]).reverse();
  view.zoom = Math.min(view.zoom, Math.max(fittingZoom(boundsOf(way)), READABLE * 0.8));
  reveal(way);
}

function ends(visit) {
  return !visit.decision?.parts.length;
}

function showResult(visits = []) {
  const isFollowing = visits.length > 0;
  if ($("row")) $("row").value = row;
  $("stop").disabled = !isFollowing;
  for (const [feature, control] of fields) {
    const isAsked = visits.some(({ node, decision }) => decision && [tree.feature[node], decision.surrogate?.feature].includes(feature));
    $("panel-sample").querySelector(`label[for="${control.id}"]`).classList.toggle("asked", isAsked);
  }
  if (!isFollowing) {
    $("way").replaceChildren();
    $("result").replaceChildren(note("Change a value, or choose a row: its way is marked in the tree."),
      el("div", { class: "buttons" }, button("Follow these values", () => follow(readFields()), { class: "main-action" })));
    return;
  }
  const shares = predict(tree, visits);
  const nEnds = visits.filter(ends).length;
  const line = answerLine(shares, "Predicts ");
  $("result").replaceChildren(...[
    line,
    nEnds > 1 ? note(`The sample goes several ways: ${nEnds} ends each have a part of it.`) : "",
    truthLine(shares),
    ...shareTables(shares),
  ].filter(Boolean));
  $("way").replaceChildren(...[
    el("h3", {}, "Path"), el("ol", { class: "steps" }, ...visits.slice(0, MOST_STEPS).map(stepLine)),
    visits.length > MOST_STEPS ? note(`and ${visits.length - MOST_STEPS} more nodes`) : "",
  ].filter(Boolean));
  say(`${line.textContent}. ${visits.filter((visit) => !ends(visit)).slice(0, 12).map(stepText).join("; ")}`);
}

function truthLine(shares) {
  const truth = row >= 0 ? tree.rows.truth?.[row] : undefined;
  if (truth === undefined) return "";
  if (!tree.isRegression) return note(`The data say ${truth}: ${answerTexts(tree, shares)[0] === truth ? "right" : "wrong"}.`);
  return note(`The data say ${meanText(truth, tree.decimals)}: off by ${meanText(Math.abs(truth - shares[0]), tree.decimals)}.`);
}

function stepLine(visit) {
  const { node } = visit;
  const part = visit.part < 1 ? `${percent(visit.part)}: ` : "";
  const text = visit.decision ? stepText(visit) : `ends at a leaf, ${answerOf(node)}`;
  return el("li", {}, `${part}${text} · `, button(`node ${node}`, () => goTo(node), { class: "link" }));
}

/** What is asked at a node, and what the answer leads to. */
function stepText({ node, decision }) {
  const feature = tree.feature[node];
  const { name, categories } = tree.features[feature];
  const x = state.sample[feature];
  const value = categories ? categories[x - 1] : x;
  const lost = Number.isNaN(x) ? `${name} is missing` : `${name} is ${value}, which the test does not know`;
  const way = decision.parts.length ? branchText(tree, node, decision.parts[0][0], name) : "";
  const ways = decision.parts.map(([b, share]) => `${percent(share)} ${branchText(tree, node, b, name)}`).join(", ");
  switch (decision.by) {
    case "value": {
      const condition = branchText(tree, node, decision.parts[0][0]);
      return Number.isNaN(x) ? `${name} is missing` : `${name} is ${value}${condition.startsWith("= ") ? "" : `: ${condition}`}`;
    }
    case "soft": return `${name} is ${value}, near the threshold: ${ways}`;
    case "surrogate": return `${lost}, but ${surrogateText(tree, decision.surrogate, decision.parts[0][0])}: as ${way}`;
    case "missing": return way.endsWith(" is missing") ? lost : `${lost}: as ${way}`;
    case "shares": return `${lost}: ${ways}`;
    default: return `${lost}: it stops here`;
  }
}

// -------------------------------------------------------------------------------------------------------- panels: the pruning

const { subtrees } = tree;
const LAST = subtrees.leaves.length - 1;

function errorText(error) {
  return subtrees.isShare ? `${fixed(100 * error, 1)} %` : String(Number(error.toPrecision(4)));
}

function buildPruning() {
  const panel = $("panel-pruning");
  panel.append(el("h2", {}, "Cost-complexity pruning"));
  if (!LAST) {
    panel.append(el("p", {}, "There is nothing to prune."));
    return;
  }
  const slider = el("input", { type: "range", id: "slider", min: 0, max: LAST, value: 0, "aria-label": "Pruning" });
  slider.addEventListener("input", () => prune(Number(slider.value)));
  const least = subtrees.given && subtrees.given.lastIndexOf(Math.min(...subtrees.given));
  panel.append(
    note("To the right, the tree gives up the tests that gain least for the leaves they cost."),
    beside("One subtree larger", () => prune(Math.max(state.step - 1, 0)), slider, "One subtree smaller", () => prune(Math.min(state.step + 1, LAST))),
    el("p", { class: "answer", id: "pruned" }),
    el("dl", { class: "figures", id: "pruned-figures" }),
    chart(),
    el("p", { class: "note" }, el("span", { class: "key" }), `${subtrees.errorName} in training`),
    subtrees.given ? el("p", { class: "note" }, el("span", { class: "key given" }), `${subtrees.errorName} on the samples given`) : "",
    el("div", { class: "buttons" }, button("Whole tree", () => prune(0)),
      subtrees.given ? button(`Least error (${leavesText(subtrees.leaves[least])})`, () => prune(least)) : ""),
  );
  showPruned();
}

/** Show the subtree of a step of the sequence, as much of it as can be read at once. */
function prune(step) {
  state.step = step;
  faces = new Map();
  countRemains();
  chooseFirst({ turn: false });
  redraw();
  keepSelected();
  home();
  showPruned();
  summarise();
  if (state.sample) follow(state.sample);
  else showNode();
}

function toggleAll(opens) {
  for (let v = 0; v < tree.n; v++) {
    if (opens && tree.branches[v]) state.open.add(v);
    else if (!opens) state.open.delete(v);
  }
}

function showPruned() {
  const { step } = state;
  const { alpha, leaves, error, given, errorName } = subtrees;
  const list = [["Training", `${errorName} ${errorText(error[step])}`]];
  if (given) list.push(["Samples given", `${errorName} ${errorText(given[step])}`]);
  $("slider").value = step;
  $("slider").setAttribute("aria-valuetext", [leavesText(leaves[step]), ...list.map((pair) => pair.join(": "))].join(", "));
  $("pruned").replaceChildren(el("strong", {}, leavesText(leaves[step])), step ? ` of ${leaves[0].toLocaleString("en")}` : ", the whole tree");
  const until = step < LAST ? `to ${alpha[step + 1].toPrecision(3)}` : "and more";
  $("pruned-figures").replaceChildren(...terms([["alpha", `${alpha[step].toPrecision(3)} ${until}`], ...list, ["Subtree", `${step + 1} of ${LAST + 1}`]]));
  const x = chartX(leaves[step]);
  $("here").setAttribute("d", `M${x} 8V140`);
  $("dot").setAttribute("cx", x);
  $("dot").setAttribute("cy", chartY((given ?? error)[step]));
}

const CHART = { left: 44, right: 320, top: 8, bottom: 140 };
const mostError = Math.max(...subtrees.error, ...(subtrees.given ?? [])) || 1;

function chartX(leaves) {
  return CHART.left + (CHART.right - CHART.left) * (1 - Math.log(leaves) / Math.log(Math.max(subtrees.leaves[0], 2)));
}

function chartY(error) {
  return CHART.bottom - (CHART.bottom - CHART.top) * error / mostError;
}

function chart() {
  const point = (error, i) => `${chartX(subtrees.leaves[i]).toFixed(1)} ${chartY(error).toFixed(1)}`;
  const curve = (kind, errors) => make("path", { class: kind, d: `M${errors.map(point).join("L")}` });
  const name = `${subtrees.errorName} against the number of leaves`;
  const drawing = make("svg", { class: "chart", viewBox: "0 0 328 170", role: "img", "aria-label": name });
  const { left, right, top, bottom } = CHART;
  drawing.append(make("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }), curve("training", subtrees.error));
  if (subtrees.given) drawing.append(curve("given", subtrees.given));
  const label = (x, y, anchor, text) => drawing.append(make("text", { x, y, "text-anchor": anchor }, text));
  label(left - 5, top + 8, "end", errorText(mostError));
  label(left - 5, bottom, "end", "0");
  for (const leaves of leafMarks()) label(chartX(leaves), bottom + 15, "middle", leaves);
  label((left + right) / 2, bottom + 29, "middle", "leaves");
  drawing.append(make("path", { class: "here", id: "here" }), make("circle", { class: "dot", id: "dot", r: 3.5 }));
  return drawing;
}

/** Numbers of leaves to write below the axis: a few powers, and the ends. */
function leafMarks() {
  const most = subtrees.leaves[0];
  const base = most > 1000 ? 10 : most > 60 ? 4 : 2;
  const marks = [];
  for (let leaves = 1; leaves < most; leaves *= base) marks.push(leaves);
  return [...marks.filter((leaves) => chartX(leaves) > CHART.left + 34), most];
}

// -------------------------------------------------------------------------------------------------------------------- search

let index = null; // what is looked through, in lower case, made when it is first needed

function buildIndex() {
  const entry = (_, v) => ({ feature: "", categories: [], thresholds: [], answer: answerOf(v).toLowerCase() });
  index = Array.from({ length: tree.n }, entry);
  for (let v = 0; v < tree.n; v++) {
    if (!tree.branches[v]) continue;
    const feature = tree.feature[v];
    const { name, categories, ordinal } = tree.features[feature];
    index[v].feature = name.toLowerCase();
    if (tree.text.has(v)) index[v].thresholds = [placeText(tree, feature, tree.threshold[v], tree.text.get(v)).toLowerCase()];
    if (tree.cuts.has(v)) index[v].thresholds = tree.cuts.get(v).texts;
    if (ordinal) index[v].categories = index[v].thresholds;
    if (tree.kind[v] !== CATEGORY && tree.kind[v] !== NOMINAL) continue;
    for (const [b, child] of childrenOf(tree, v).entries()) {
      const codes = tree.kind[v] === NOMINAL ? codesTo(tree.table.get(v), b) : b < categories.length ? [b + 1] : [];
      index[child].categories.push(...codes.map((code) => categories[code - 1].toLowerCase()));
    }
  }
}

/** Whether a node is looked for. */
function isFound(v, query, where) {
  const entry = index[v];
  const leaf = isLeaf(v);
  const tests = {
    feature: () => !leaf && entry.feature.includes(query),
    category: () => entry.categories.some((category) => category.includes(query)),
    answer: () => leaf && entry.answer.includes(query),
    node: () => String(v) === query.replace(/^(node|#)\s*/, ""),
    threshold: () => !leaf && entry.thresholds.some((text) => text.startsWith(query.replace(/^[<>=≤]+\s*/, ""))),
  };
  return where === "all" ? Object.values(tests).some((test) => test()) : tests[where]();
}

/** Nodes that the pruning leaves, in the order of reading. */
function remaining() {
  const order = [];
  for (const waiting = [0]; waiting.length;) {
    const v = waiting.pop();
    order.push(v);
    if (!isLeaf(v)) waiting.push(...items(v).reverse());
  }
  return order;
}

const FEW = 40; // matches that are all brought into sight

function search() {
  const query = $("query").value.trim().toLowerCase();
  if (!index) buildIndex();
  state.matches = query ? remaining().filter((v) => isFound(v, query, $("where").value)) : [];
  state.matchSet = new Set(state.matches);
  state.current = -1;
  if (state.matches.length && state.matches.length <= FEW) openTo(state.matches);
  if (state.matches.length) return showMatch(0);
  $("found").textContent = query ? "none" : "";
  if (query) say("Nothing found");
  return redraw();
}

function showMatch(i) {
  const n = state.matches.length;
  if (!n) return;
  state.current = (i + n) % n;
  const v = state.matches[state.current];
  openTo([v]);
  redraw();
  select(v);
  $("found").textContent = `${state.current + 1} of ${n}`;
  say(`${state.current + 1} of ${n}: ${drawn.nodes.get(tree.standIn[v]).getAttribute("aria-label")}`);
}

// ------------------------------------------------------------------------------------------------------------------ download

// looks that a copy has as attributes, and what they are without being said
const LOOKS = { fill: "", "fill-opacity": "1", stroke: "none", "stroke-width": "1px", "stroke-dasharray": "none", opacity: "1" };
const LETTERS = { "font-family": "", "font-size": "", "font-weight": "400", "text-anchor": "start" };
const GEOMETRY = ["x", "y", "width", "height", "rx", "d", "dx"];

/** A copy with its looks as attributes, which every program understands; without what cannot be seen. */
function standAlone(element) {
  const { tagName } = element;
  const looks = getComputedStyle(element);
  const copy = make(tagName);
  for (const name of GEOMETRY) if (element.hasAttribute(name)) copy.setAttribute(name, element.getAttribute(name));
  const wanted = tagName === "title" ? {} : tagName === "g" ? { opacity: "1" } : /^t/.test(tagName) ? { ...LOOKS, ...LETTERS } : LOOKS;
  for (const [name, usual] of Object.entries(wanted)) {
    if (looks.getPropertyValue(name) !== usual) copy.setAttribute(name, looks.getPropertyValue(name));
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) copy.append(child.textContent);
    else if (getComputedStyle(child).fill !== "none" || getComputedStyle(child).stroke !== "none") copy.append(standAlone(child));
  }
  return copy;
}

/** What is unfolded, as a drawing that needs no page. */
function svgText() {
  draw({ everything: true });
  const { left, top, right, bottom } = sheet.bounds;
  const [x, y] = [Math.round(left - MARGIN), Math.round(top - MARGIN)];
  const [width, height] = [Math.round(right + MARGIN) - x, Math.round(bottom + MARGIN) - y];
  const picture = make("svg", { viewBox: `${x} ${y} ${width} ${height}`, width, height });
  const fill = getComputedStyle(document.documentElement).backgroundColor;
  picture.append(make("title", {}, tree.title), make("rect", { x, y, width, height, fill }));
  for (const edge of drawn.edges.values()) picture.append(standAlone(edge));
  for (const [v, node] of drawn.nodes) {
    const copy = standAlone(node);
    const { x: left, y: top } = sheet.place.get(v);
    copy.setAttribute("transform", `translate(${left} ${top})`);
    picture.append(copy);
  }
  draw();
  return new XMLSerializer().serializeToString(picture);
}

function download() {
  const link = el("a", { href: URL.createObjectURL(new Blob([svgText()], { type: "image/svg+xml" })), download: "tree.svg" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say("Drawing downloaded as tree.svg");
}

// -------------------------------------------------------------------------------------------------------------------- events

function onTreeKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const v = state.selected;
  const at = sheet.order.indexOf(v);
  const to = (node) => node !== undefined && select(node, { focus: true });
  const steps = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };
  if (event.shiftKey && steps[event.key]) {
    view.x += steps[event.key][0];
    view.y += steps[event.key][1];
    applyView();
  } else if (event.key === "ArrowDown") to(sheet.order[at + 1]);
  else if (event.key === "ArrowUp") to(sheet.order[at - 1]);
  else if (event.key === "Home") to(sheet.order[0]);
  else if (event.key === "End") to(sheet.order[sheet.order.length - 1]);
  else if (event.key === "ArrowRight") {
    if (!isLeaf(v)) shownChildren(v).length ? to(shownChildren(v)[0]) : toggle(v);
  } else if (event.key === "ArrowLeft") {
    if (shownChildren(v).length) toggle(v);
    else if (v) to(tree.parent[v]);
  } else if (event.key === "Enter" || event.key === " ") {
    if (event.shiftKey) toggleBelow(v);
    else toggle(v);
  } else if (event.key === "*") openSiblings(v);
  else if (event.key === "+" || event.key === "=") zoomBy(1.25);
  else if (event.key === "-") zoomBy(0.8);
  else if (event.key === "0" && !typed.text) fit();
  else if (event.key.length === 1 && event.key !== "/" && event.key !== "?") typeAhead(event.key);
  else return;
  event.preventDefault();
}

function openSiblings(v) {
  around(v, () => {
    for (const sibling of v ? items(tree.parent[v]) : [0]) if (!isLeaf(sibling)) state.open.add(sibling);
  });
}

const typed = { text: "", time: 0 };

/** Go to the next node whose condition or box begins with what was typed within half a second. */
function typeAhead(key) {
  const now = performance.now();
  typed.text = (now - typed.time < 500 ? typed.text : "") + key.toLowerCase();
  typed.time = now;
  setTimeout(() => { if (performance.now() - typed.time >= 500) typed.text = ""; }, 520);
  const at = sheet.order.indexOf(state.selected);
  const offset = typed.text.length > 1 ? 0 : 1; // one letter again and again goes on, several refine
  const ordered = [...sheet.order.slice(at + offset), ...sheet.order.slice(0, at + offset)];
  const begins = (text) => text.toLowerCase().replace(/^(=|≤|>|in \{)\s*/, "").startsWith(typed.text);
  const found = ordered.find((v) => begins(faceOf(v).name) || begins(faceOf(v).condition));
  if (found !== undefined) select(found, { focus: true });
}

/** Where an event of the pointer is on the stage. */
function spotOf(event) {
  const { left, top } = stage.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}

/** The node that an event of the pointer is about; from afar the nearest one. */
function nodeAt(event) {
  const element = event.target.closest(".node");
  if (element) return Number(element.id.slice(5));
  if (!drawn.far.length) return null;
  const [left, top] = spotOf(event);
  const x = (left - view.x) / view.zoom, y = (top - view.y) / view.zoom;
  const distance = (v) => Math.hypot(sheet.place.get(v).x + faceOf(v).width / 2 - x, sheet.place.get(v).y + BOX_HEIGHT / 2 - y);
  return sheet.order.reduce((a, b) => (distance(b) < distance(a) ? b : a));
}

function onClick(event) {
  if (wasDragged) return;
  const v = nodeAt(event);
  if (v === null) return;
  if (drawn.far.length) {
    zoomBy(READABLE / view.zoom, ...spotOf(event));
    select(v, { focus: true });
  } else if (event.target.closest(".knob") || v === state.selected || (!isLeaf(v) && !state.open.has(v))) {
    select(v, { focus: true, show: false });
    toggle(v);
  } else {
    select(v, { focus: true });
  }
  showTab(state.sample && !$("panel-sample").hidden ? "sample" : "node");
}

const pointers = new Map();
let wasDragged = false;

function onPointerDown(event) {
  if (event.button > 0) return;
  if (!pointers.size) wasDragged = false;
  pointers.set(event.pointerId, event);
}

/** One pointer drags, two pinch. */
function onPointerMove(event) {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
  if (!wasDragged && pointers.size === 1 && Math.hypot(dx, dy) < 4) return;
  if (!wasDragged) {
    wasDragged = true; // from now on every move is ours, and the click at its end is none
    for (const id of pointers.keys()) svg.setPointerCapture(id);
    svg.classList.add("dragging");
  }
  const other = [...pointers.values()].find((pointer) => pointer.pointerId !== event.pointerId);
  pointers.set(event.pointerId, event);
  if (other) {
    const spread = (pointer) => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY);
    const [a, b] = [spotOf(event), spotOf(other)];
    zoomBy(spread(event) / Math.max(spread(before), 1), (a[0] + b[0]) / 2, (a[1] + b[1]) / 2, {});
  }
  view.x += dx / pointers.size;
  view.y += dy / pointers.size;
  applyView();
}

function onPointerUp(event) {
  pointers.delete(event.pointerId);
  if (!pointers.size) svg.classList.remove("dragging");
}

function onWheel(event) {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
  if (event.shiftKey) {
    view.x -= (event.deltaX || event.deltaY) * unit;
    applyView();
    return;
  }
  const speed = event.ctrlKey ? 0.01 : 0.0016; // a pinch on a touchpad comes as a wheel with the control key, in small steps
  zoomBy(Math.exp(-event.deltaY * unit * speed), ...spotOf(event), {});
}

/** Fit anew what was fitted; and choose anew what is open, where nobody has.  In a frame a page may have had no size at first. */
function onResize() {
  if (!view.isFitted) return applyView();
  if (state.open === first.open && state.open.size === first.size) {
    chooseFirst();
    redraw({ still: true });
  }
  return home({});
}

function onPageKey(event) {
  const isTyping = event.target.closest("input, select, dialog");
  if ((event.key === "/" && !isTyping) || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) {
    $("query").focus();
    event.preventDefault();
  } else if (event.key === "?" && !isTyping) $("help").showModal();
}

function showTab(name) {
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const isChosen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = !isChosen;
  }
}

function onTabKey(event) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const at = tabs.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  const tab = tabs[(to + tabs.length) % tabs.length];
  showTab(tab.id.slice(4));
  tab.focus();
  event.preventDefault();
}

function isDark() {
  const { classList } = document.documentElement;
  return classList.contains("dark") || (!classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
}

function changeTheme() {
  const dark = !isDark();
  document.documentElement.classList.toggle("dark", dark);
  document.documentElement.classList.toggle("light", !dark);
  $("theme").setAttribute("aria-pressed", dark);
}

function turn() {
  state.upright = !state.upright;
  redraw();
  home();
}

function unfoldAll() {
  toggleAll(true);
  redraw();
  home();
  say("everything unfolded");
}

function foldToFirst() {
  chooseFirst();
  redraw();
  keepSelected();
  home();
  say("folded to the first view");
}

/** The whole drawing on paper, whatever part of it is on the screen. */
function beforePrint() {
  draw({ everything: true });
  const { left, top, right, bottom } = sheet.bounds;
  svg.setAttribute("viewBox", `${left - 8} ${top - 8} ${right - left + 16} ${bottom - top + 16}`);
  $("view").style.transform = "none";
}

function afterPrint() {
  svg.removeAttribute("viewBox");
  draw();
  applyView();
}

// --------------------------------------------------------------------------------------------------------------------- start

function summarise() {
  const classes = tree.targets.map((target) => target.classes && count(target.classes.length, "class", "classes")).join(" and ");
  const size = `${count(remains.nodes[0] + 1, "node")}, ${leavesText(remains.leaves[0])}`;
  const parts = [tree.isRegression ? "regression" : `classification, ${classes}`, size, count(tree.samples[0], "training sample")];
  $("summary").textContent = [...parts, ...(state.step ? ["pruned"] : [])].join(" · ");
}

function buildLegend() {
  const most = 12;
  for (const [target, { classes, colours }] of tree.targets.entries()) {
    if (tree.isRegression && target) break;
    if (tree.columns.length > 1 && !tree.isRegression) $("legend").append(el("strong", {}, `Target ${target + 1}`));
    if (tree.isRegression) {
      const scale = el("span", { class: "scale" });
      scale.style.setProperty("--colour", colours[0]);
      const [low, high] = tree.range[0];
      $("legend").append(el("span", {}, meanText(low, tree.decimals)), scale, el("span", {}, meanText(high, tree.decimals)));
    } else {
      $("legend").append(...classes.slice(0, most).map((name, c) => el("span", {}, swatch(colours[c]), name)));
      if (classes.length > most) $("legend").append(el("span", {}, `and ${classes.length - most} more`));
    }
  }
}

function listen() {
  svg.addEventListener("keydown", onTreeKey);
  svg.addEventListener("click", onClick);
  svg.addEventListener("pointerdown", onPointerDown);
  svg.addEventListener("pointermove", onPointerMove);
  for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, onPointerUp);
  svg.addEventListener("wheel", onWheel, { passive: false });
  addEventListener("keydown", onPageKey);
  new ResizeObserver(onResize).observe(stage);
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
  $("search").addEventListener("submit", (event) => {
    event.preventDefault();
    showMatch(state.current + 1);
  });
  for (const name of ["query", "where"]) $(name).addEventListener("input", search);
  $("query").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      showMatch(state.current - 1);
    }
  });
  const clicks = {
    previous: () => showMatch(state.current - 1), download, theme: changeTheme, "help-button": () => $("help").showModal(),
    "zoom-in": () => zoomBy(1.25), "zoom-out": () => zoomBy(0.8), fit: () => fit(), turn, "open-all": unfoldAll, "fold-all": foldToFirst,
  };
  for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", act);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => showTab(tab.id.slice(4)));
    tab.addEventListener("keydown", onTabKey);
  }
}

const MOST_OPEN = 64;
const first = { open: null, size: 0 }; // what was chosen

/** Open what was asked for, else as many of the heaviest nodes as can be read at once; and turn the tree the better way. */
function chooseFirst({ turn = true } = {}) {
  const nodes = state.step ? remaining().filter((v) => !isLeaf(v)) : tree.open;
  const heaviest = nodes.slice().sort((a, b) => tree.weight[b] - tree.weight[a] || a - b).slice(0, Math.max(MOST_OPEN, tree.open.length));
  const ways = turn ? [true, false] : [state.upright];
  const zooms = (n) => {
    state.open = new Set(heaviest.slice(0, n));
    return ways.map((upright) => fittingZoom(arrange(upright).bounds));
  };
  const isAsked = tree.openIsAsked && !state.step;
  let fits = isAsked ? heaviest.length : Math.min(2, heaviest.length), tooMany = heaviest.length + 1;
  while (fits + 1 < tooMany) {
    const n = (fits + tooMany) >> 1;
    if (Math.max(...zooms(n)) >= READABLE) fits = n;
    else tooMany = n;
  }
  const [fromAbove, fromLeft] = zooms(fits);
  Object.assign(first, { open: state.open, size: state.open.size });
  if (turn) state.upright = fromAbove >= Math.min(fromLeft, 1);
}

function start() {
  svg.setAttribute("aria-label", `Decision tree: ${tree.title}`);
  countRemains();
  summarise();
  buildLegend();
  buildSample();
  buildPruning();
  chooseFirst();
  redraw({ still: true });
  home({});
  showNode();
  $("theme").setAttribute("aria-pressed", isDark());
  listen();
}

start();

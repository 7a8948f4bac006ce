/* Positions of the nodes, the state of the page, and the nodes that are shown. */

// ------------------------------------------------------------------------------------------------------------------ layout

/** Place subtrees across the levels, relative to the root, as close together as their outlines allow.

    `order` holds the shown nodes, parents first; `half` returns half the breadth of a node.  Neighbours are compared level by level
    along their outlines.  Where one outline ends, a thread continues in the other, so that the time is linear in the number of nodes
    (Reingold and Tilford 1981; van der Ploeg 2014).  There is no recursion, because paths may be very long. */
function tidy(order, childrenOf, half, gap) {
  const n = order.reduce((most, v) => Math.max(most, v), 0) + 1;
  const at = new Float64Array(n); // offset of a node from its parent
  const pair = (make) => [make(), make()]; // on the left and on the right
  const end = pair(() => new Int32Array(n)), endAt = pair(() => new Float64Array(n)); // ends of the outlines of each subtree
  const thread = pair(() => new Int32Array(n).fill(-1)), threadBy = pair(() => new Float64Array(n)); // and where they continue
  let next = -1, nextAt = 0;

  /** Set `next` to the next node of an outline, -1 at its end, and `nextAt` to its place. */
  const follow = (side, v, x) => {
    const children = childrenOf(v);
    next = children.length ? children[side ? children.length - 1 : 0] : thread[side][v];
    nextAt = x + (children.length ? at[next] : threadBy[side][v]);
  };

  /** Place a subtree to the right of those before it; the first subtree holds the outlines of all. */
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
    if (beside >= 0) { // the subtree is deeper: the left outline of the forest continues in it
      thread[0][end[0][first]] = beside;
      threadBy[0][end[0][first]] = besideAt + shift - endAt[0][first];
      [end[0][first], endAt[0][first]] = [end[0][subtree], endAt[0][subtree] + shift];
    }
    if (below >= 0) { // the forest is deeper: the right outline of the subtree continues in it
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

const tree = readTree(chosenData(JSON.parse($("data").textContent)));
const state = {
  open: new Set(), // nodes whose children are shown
  folded: new Set(), // nodes that the user folded and has not unfolded
  step: 0, // index in the pruning sequence: 0 is the whole tree
  selected: 0,
  upright: true, // whether the root is at the top; false: on the left
  matches: [], matchSet: new Set(), current: -1, // nodes that the search found, and the index of the current one
  sample: null, visits: new Map(), // values of the followed sample, and its visits by node
};

const icicle = { isOn: false, root: 0, svg: null };
const presenting = { isOn: false, at: 0, steps: [], before: null }; // and the nodes that were open before

// short forms for the tree of the page
const formulaOf = (v) => (tree.models && isLeaf(v) ? tree.models.text[v] : "");
const answerOf = (v) => formulaOf(v) || answerTexts(tree, sharesOf(tree, v)).join(" | ");
const testedBy = (v) => tree.features[tree.feature[v]].name;
const isByHand = (v) => tree.byHand.includes(v);
const supportOf = (v) => supportText(tree, v);
const cameBy = (v) => `${conditionText(tree, v)}${takesMissing(tree, v) ? " or missing" : ""}`;
/** Return how many of the samples given are in a node, and their share of its prediction or their mean. */
function givenText(v) {
  const shares = sharesOf(tree.given, v), answers = tree.isRegression ? [] : answersTo(tree, sharesOf(tree, v));
  const texts = tree.columns.map((_, t) => {
    if (tree.isRegression) return meanText(shares[t], tree.decimals);
    return `${percent(shares[tree.starts[t] + answers[t]])} ${tree.targets[t].classes[answers[t]]}`;
  });
  const n = tree.given.weight[v];
  return [separated(n), ...(n ? texts : [])].join(", ");
}

const leavesText = (n) => count(n, "leaf", "leaves");

function isLeaf(v) {
  return !tree.branches[v] || tree.collapsedAt[v] <= state.step;
}

/** Return the children of a node to show, with a group of empty leaves as the last one. */
function items(v) {
  if (tree.kind[v] !== CATEGORY) return childrenOf(tree, v);
  const children = childrenOf(tree, v).filter((child) => tree.standIn[child] === child);
  return [...children.filter((child) => !tree.groups.has(child)), ...children.filter((child) => tree.groups.has(child))];
}

function shownChildren(v) {
  return !isLeaf(v) && state.open.has(v) ? items(v) : [];
}

/** Number of nodes below each node after pruning, and number of leaves including the node itself. */
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

/** Return nodes in reading order, each before its children. */
function inOrder(childrenOf) {
  const order = [];
  for (const waiting = [0]; waiting.length;) {
    const v = waiting.pop();
    order.push(v);
    for (const child of childrenOf(v).reverse()) waiting.push(child);
  }
  return order;
}

const shownNodes = () => inOrder(shownChildren);
const remaining = () => inOrder((v) => (isLeaf(v) ? [] : items(v))); // after pruning

/** Return the index of the colour of a node in the list of its first target. */
const tintOf = (v) => (tree.isRegression ? 0 : answersTo(tree, sharesOf(tree, v))[0]);
const colourOf = (v) => tree.targets[0].colours[tintOf(v)];

/** Return the opacity of the colour of a node; `fullest` keeps text on the colours of a palette readable. */
function opacityOf(v) {
  const { fullest } = tree.targets[0];
  return Math.min(0.06 + 0.36 * certaintyOf(v), fullest ? fullest[tintOf(v)] : 1).toFixed(3);
}

/** Return the certainty of a prediction, or the relative size of a mean, from 0 to 1. */
function certaintyOf(v) {
  const shares = sharesOf(tree, v);
  if (tree.isRegression) {
    const [low, high] = tree.range[0];
    return high > low ? (shares[0] - low) / (high - low) : 0.5;
  }
  const width = tree.columns[0];
  return width > 1 ? Math.max((Math.max(...shares.subarray(0, width)) - 1 / width) / (1 - 1 / width), 0) : 1;
}

// sizes of the drawing, in pixels at zoom 1
const BARRED = tree.given ? [tree, tree.given] : [tree]; // a bar for each: training, and below it the samples given
const PAD = 12, BAR = 5, BARS = Math.min(tree.columns.length, 4), PITCH = BARRED.length * (BAR + 1) + 2, BOX_HEIGHT = 55 + BARS * PITCH;
const LEAST_BOX = 92, MOST_BOX = 214, MOST_CONDITION = 190, KNOB = 8, BEND = 30, SIBLINGS = 14, LINE = 14, NAME_LINE = 16, MOST_LINES = 3;
const NAME_FONT = "600 13px", TEXT_FONT = "12px", NUMBER_FONT = "10px";

/** Break a text into lines at spaces, underscores, hyphens and slashes; clip the last line. */
function wrapped(text, most, font) {
  const lines = [""];
  for (const part of text.match(/[^ _\-/:.(]*[ _\-/:.(]?/g)) {
    const last = lines.length - 1;
    const line = lines[last] + part;
    if (lines.length === MOST_LINES || !lines[last] || textLength(line.trimEnd(), font) <= most) lines[last] = line;
    else lines.push(part);
  }
  return lines.map((line) => clip(line.trim(), most, font));
}

/** Return the lines of the condition of the branch to a node: with short names, and as many of a set as one line has room for. */
function drawnCondition(v) {
  const parent = tree.parent[v];
  if (parent < 0) return [];
  let text = "";
  for (let most = tree.maxCategories; most; most--) {
    text = branchText(inBrief(tree, most), parent, branchOf(tree, v));
    if (textLength(text, TEXT_FONT) <= MOST_CONDITION) break;
  }
  const spelled = branchText(inBrief(tree, 1, true), parent, branchOf(tree, v));
  const lines = wrapped(spelled, MOST_CONDITION, TEXT_FONT);
  const isOne = spelled !== branchText(inBrief(tree, 1), parent, branchOf(tree, v));
  const isWhole = lines.join("").replaceAll(" ", "") === spelled.replaceAll(" ", ""); // clipped names may read alike, short ones do not
  return isOne && isWhole ? lines : wrapped(text, MOST_CONDITION, TEXT_FONT);
}

/** Parts of boxes that the reader adds, such as charts: whether these are shown; height and width for all parts in a node; the drawing. */
const boxCharts = { isOn: false, extra: () => 0, room: () => 0, draw: null };

function heightOf(v) {
  return BOX_HEIGHT + faceOf(v).nameMore + boxCharts.extra(v);
}

let faces = new Map(); // cache of `faceOf`, until the pruning changes

/** Return the clipped texts in a box and beside it, and their sizes. */
function faceOf(v) {
  if (faces.has(v)) return faces.get(v);
  const leaf = isLeaf(v);
  const number = `#${v}`;
  const aside = textLength(number, NUMBER_FONT) + 10;
  const most = MOST_BOX - 2 * PAD;
  const names = formulaOf(v) ? formulaLines(v, most, aside) : [clip(leaf ? drawnAnswer(tree, v) : testedBy(v), most - aside, NAME_FONT)];
  const name = names.join(" "), nameMore = (names.length - 1) * NAME_LINE; // height of all lines but one
  const lesser = clip(drawnFigures(tree, v, leaf), most, TEXT_FONT);
  const lines = drawnCondition(v);
  const condition = lines.join(" "), conditionMore = Math.max(lines.length - 1, 0) * LINE; // height of all lines but one
  const needed = Math.max(...names.map((line, i) => textLength(line, NAME_FONT) + (i ? 0 : aside)), textLength(lesser, TEXT_FONT)) + 2 * PAD;
  const conditionWidth = condition ? Math.max(...lines.map((line) => textLength(line, TEXT_FONT))) + (takesMissing(tree, v) ? 14 : 0) : 0;
  const width = Math.max(LEAST_BOX, Math.ceil(needed), Math.min(boxCharts.room(v), MOST_BOX));
  const face = { leaf, names, name, nameMore, number, lesser, lines, condition, conditionWidth, conditionMore, width };
  faces.set(v, face);
  return face;
}

/** Place all shown nodes: upper left corners of their boxes, and the bounds of everything. */
function arrange(upright) {
  const order = shownNodes();
  const children = new Map(order.map((v) => [v, shownChildren(v)]));
  const half = upright
    ? (v) => Math.max(faceOf(v).width, faceOf(v).conditionWidth) / 2
    : (v) => Math.max(heightOf(v) / 2, edgeWidth(v) / 2 + 21 + faceOf(v).conditionMore);
  const across = tidy(order, (v) => children.get(v), half, SIBLINGS);
  const levels = levelPlaces(order, upright);
  const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const place = new Map();
  for (const v of order) {
    const { width } = faceOf(v);
    const { start } = levels[tree.depth[v]];
    const at = upright ? { x: across[v] - width / 2, y: start } : { x: start, y: across[v] - heightOf(v) / 2 };
    place.set(v, at);
    const aside = upright ? Math.max(half(v), width / 2) : width;
    bounds.left = Math.min(bounds.left, upright ? across[v] - aside : at.x);
    bounds.right = Math.max(bounds.right, upright ? across[v] + aside : at.x + width + 3 * KNOB);
    bounds.top = Math.min(bounds.top, upright ? at.y : across[v] - half(v));
    bounds.bottom = Math.max(bounds.bottom, at.y + heightOf(v) + (upright ? 2 * KNOB : 0));
  }
  return { order, children, place, levels, bounds, upright };
}

/** Return the start of each level, and the room for the conditions before it. */
function levelPlaces(order, upright) {
  const levels = [];
  for (const v of order) {
    const level = (levels[tree.depth[v]] ??= { width: 0, height: 0, room: 0, more: 0, start: 0 });
    level.width = Math.max(level.width, faceOf(v).width);
    level.height = Math.max(level.height, heightOf(v));
    level.room = Math.max(level.room, faceOf(v).conditionWidth);
    level.more = Math.max(level.more, faceOf(v).conditionMore);
  }
  for (let d = 1; d < levels.length; d++) {
    const before = levels[d - 1];
    if (upright) levels[d].start = before.start + before.height + KNOB + BEND + 22 + levels[d].more;
    else levels[d].start = before.start + before.width + KNOB + BEND + levels[d].room + 16;
  }
  return levels;
}

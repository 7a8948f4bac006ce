/* The drawing: boxes and edges, zoom and pan, selection and folding. */

// ------------------------------------------------------------------------------------------------------------- the drawing

const svg = $("tree"), stage = $("stage");
const drawn = { nodes: new Map(), edges: new Map(), far: [] }; // elements by node, and those of a tree seen from afar
const ALL_DRAWN = 900; // number of shown nodes up to which all are drawn, even off the screen
const FAR = 1400; // number of nodes on the screen above which they are not drawn one by one
let sheet = null; // the latest arrangement
const view = { zoom: 1, x: 0, y: 0, isFitted: false }; // fitted until the user moves it

/** Arrange and draw again; `still` without animation. */
function redraw({ still = false } = {}) {
  svg.classList.toggle("moving", !still);
  svg.classList.toggle("following", state.visits.size > 0);
  sheet = arrange(state.upright);
  draw();
  showPython();
  if (icicle.isOn) drawIcicle();
}

/** Update the elements to what is visible.  Elements that remain are reused, which keeps the focus. */
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
    return x < right && x + MOST_BOX > left && y < bottom && y + heightOf(v) > top;
  });
  if (seen.length > FAR) return { nodes: [state.selected], edges: [], isFar: true };
  const crossing = children.filter((v) => {
    const a = place.get(v), b = place.get(tree.parent[v]);
    if (Math.min(a.x, b.x) >= right || Math.max(a.x, b.x) + MOST_BOX <= left) return false;
    return Math.min(a.y, b.y) < bottom && Math.max(a.y, b.y) + heightOf(v) > top;
  });
  const isSeen = new Set(seen).add(state.selected); // keeps the focus
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
  const looks = [face.leaf, isOpen, sheet.upright, visit?.part, state.step, boxCharts.extra(v)].join();
  if (node.looks !== looks) {
    node.looks = looks;
    node.replaceChildren(...boxParts(v, face, isOpen, visit));
  }
  node.classList.toggle("new", !old);
  markNode(node, v, visit);
  node.classList.toggle("current", state.matches[state.current] === v);
  describe(node, v, face, isOpen, visit);
  return node;
}

/** Mark a node that the followed sample passes, or that the search found. */
function markNode(node, v, visit) {
  node.classList.toggle("passed", Boolean(visit));
  node.classList.toggle("match", state.matchSet.has(v));
}

/** Set the attributes of a node for screen readers. */
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

/** Return a condition as spoken words. */
function spoken(condition) {
  return condition.replace(/^(\S+) < (.*) ≤ /, "$2 above $1 and at most ").replace(" ≤ ", " at most ").replace(/^(.*) > /, "$1 above ");
}

function labelOf(v, face, isOpen, visit) {
  const outcome = `${answerOf(v)}, ${supportOf(v)}`;
  const parts = [`${spoken(conditionText(tree, v))}${takesMissing(tree, v) ? ", or missing" : ""}`];
  parts.push(face.leaf ? `leaf, ${outcome}` : `tests ${testedBy(v)}; prediction here ${outcome}`);
  if (!face.leaf && !isOpen) parts.push(`${count(remains.nodes[v], "node")} below`);
  if (visit) parts.push(visit.part < 1 ? `on the path, ${percent(visit.part)} of the sample` : "on the path");
  if (state.matchSet.has(v)) parts.push("found");
  return `${parts.join("; ")}; node ${v}`;
}

/** Return the tooltip of a node. */
function titleOf(v) {
  const test = isLeaf(v) ? "" : `tests ${testedBy(v)}${isByHand(v) ? " [set by hand]" : ""}`;
  const given = tree.given ? `samples given: ${givenText(v)}` : "";
  return make("title", {}, [cameBy(v), test, `${answerOf(v)} (${supportOf(v)})`, given].filter(Boolean).join("\n"));
}

function boxParts(v, face, isOpen, visit) {
  const { width } = face, height = heightOf(v);
  const round = face.leaf ? 14 : 7;
  const box = { width, height, rx: round };
  const colour = colourOf(v);
  const parts = [
    titleOf(v),
    make("rect", { class: "halo", x: -4, y: -4, width: width + 8, height: height + 8, rx: round + 4 }),
    make("rect", { class: "ring", x: -1, y: -1, width: width + 2, height: height + 2, rx: round + 1 }),
    make("rect", { class: "box", ...box }),
    make("rect", { class: "tint", ...box, fill: colour, "fill-opacity": opacityOf(v) }),
    ...face.names.map((line, i) => make("text", { class: "name", x: PAD, y: 20 + i * NAME_LINE }, line)),
    make("text", { class: "number", x: width - 9, y: 18 }, face.number),
    ...conditionParts(v, face),
  ];
  const below = make("g", face.nameMore ? { transform: `translate(0 ${face.nameMore})` } : {});
  below.append(make("text", { class: "lesser", x: PAD, y: 37 }, face.lesser), ...bars(v, width));
  if (boxCharts.extra(v)) below.append(boxCharts.draw(v, width));
  parts.push(below);
  if (!face.leaf) parts.push(knob(v, width, isOpen));
  if (visit && visit.part < 1) parts.push(partBadge(visit.part, width, height));
  return parts;
}

function conditionParts(v, face) {
  if (!face.condition) return [];
  const spot = sheet.upright
    ? { class: "condition centred", x: face.width / 2, y: -9 }
    : { class: "condition end", x: -6, y: heightOf(v) / 2 - edgeWidth(v) / 2 - 5 };
  const last = face.lines.length - 1;
  const line = (text, i) => make("tspan", { x: spot.x, y: spot.y - (last - i) * LINE }, text);
  const text = make("text", spot, last ? null : face.condition);
  if (last) text.append(...face.lines.map(line));
  if (takesMissing(tree, v)) text.append(make("tspan", { class: "sign", dx: 5 }, "∅"));
  if (!sheet.upright) return [text];
  const room = face.conditionWidth + 6; // hides the branch behind the text
  const height = 15 + face.conditionMore;
  return [make("rect", { class: "plate", x: (face.width - room) / 2, y: -6 - height, width: room, height, rx: 4 }), text];
}

/** Draw the bars of each target: class shares, or the relative size of a mean. */
function bars(v, width) {
  const length = width - 2 * PAD;
  return tree.columns.slice(0, BARS).flatMap((columns, target) => BARRED.flatMap((each, i) => {
    const y = 45 + target * PITCH + i * (BAR + 1), start = tree.starts[target];
    const track = make("rect", { class: "track", x: PAD, y, width: length, height: BAR, rx: 2 });
    const isEmpty = i && !each.weight[v]; // no sample is here
    return [track, ...(isEmpty ? [] : barParts(sharesOf(each, v).subarray(start, start + columns), target, length, y))];
  }));
}

function barParts(shares, target, length, y) {
  const { colours } = tree.targets[target];
  if (tree.isRegression) {
    const [low, high] = tree.range[target];
    const part = high > low ? Math.min((shares[0] - low) / (high - low), 1) : 0.5;
    return [make("rect", { x: PAD, y, width: Math.max(part * length, 2).toFixed(1), height: BAR, rx: 2, fill: colours[0] })];
  }
  const parts = [];
  let x = PAD, rest = 0;
  shares.forEach((share, c) => {
    if (share * length < 1) {
      rest += share; // too thin to see
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

/** Draw the button to fold and unfold: a minus, or the number of hidden nodes. */
function knob(v, width, isOpen) {
  const text = isOpen ? "−" : `+${remains.nodes[v]}`;
  const length = Math.max(2 * KNOB, textLength(text, "600 11px") + 9);
  const centre = sheet.upright ? { x: width / 2, y: heightOf(v) } : { x: width + length / 2 - KNOB, y: heightOf(v) / 2 };
  const group = make("g", { class: "knob", "aria-hidden": true });
  group.append(
    make("rect", { class: "knob-shape", x: centre.x - length / 2, y: centre.y - KNOB, width: length, height: 2 * KNOB, rx: KNOB }),
    make("text", { x: centre.x, y: centre.y + 4 }, text),
  );
  return group;
}

function partBadge(part, width, height) {
  const text = percent(part);
  const length = textLength(text, "600 11px") + 10;
  const badge = make("g", { class: "part" });
  badge.append(
    make("rect", { x: width - length + 8, y: height - 9, width: length, height: 17, rx: 8.5 }),
    make("text", { x: width + 8 - length / 2, y: height + 3.5 }, text),
  );
  return badge;
}

/** Return the width of a branch, proportional to its weight. */
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
    const [x, y] = [from.x + faceOf(parent).width / 2, from.y + heightOf(parent)];
    const end = to.x + faceOf(v).width / 2, bend = to.y - 22 - sheet.levels[tree.depth[v]].more;
    const { start, height } = sheet.levels[tree.depth[parent]];
    const low = start + height; // past the boxes beside the parent, which may be taller
    return `M${x} ${y}${low > y ? `V${low}` : ""}C${x} ${(low + bend) / 2 + KNOB} ${end} ${(low + bend) / 2} ${end} ${bend}V${to.y}`;
  }
  const [x, y] = [from.x + faceOf(parent).width, from.y + heightOf(parent) / 2];
  const end = to.y + heightOf(v) / 2, bend = to.x - sheet.levels[tree.depth[v]].room - 16;
  return `M${x} ${y}C${(x + bend) / 2 + KNOB} ${y} ${(x + bend) / 2} ${end} ${bend} ${end}H${to.x}`;
}

/** Draw a very large tree from afar: all branches as one path, and all boxes of a colour as one path. */
function farElements() {
  const boxes = new Map();
  let lines = "";
  for (const v of sheet.order) {
    const { x, y } = sheet.place.get(v);
    const colour = colourOf(v);
    boxes.set(colour, `${boxes.get(colour) ?? ""}M${x} ${y}h${faceOf(v).width}v${heightOf(v)}h${-faceOf(v).width}z`);
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

/** Zoom by a factor around the point (x, y) of the stage. */
function zoomBy(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2, options = { glide: true }) {
  const zoom = Math.min(Math.max(view.zoom * factor, LEAST_ZOOM), MOST_ZOOM);
  const ratio = zoom / view.zoom;
  Object.assign(view, { zoom, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio });
  applyView(options);
}

/** Return the part of the stage that is free of the legend and the buttons, which are left on a wide stage and on top of a narrow one. */
function freeStage() {
  if (presenting.isOn) { // the legend is on top, and the caption below
    const top = $("legend").offsetHeight + 40, below = document.querySelector(".caption").offsetHeight + 40;
    return { left: 16, top, width: stage.clientWidth - 32, height: stage.clientHeight - top - below };
  }
  const isWide = stage.clientWidth > 600;
  const left = isWide ? MARGIN + 40 : 16, top = isWide ? MARGIN : MARGIN + 34;
  const below = $("legend").offsetHeight + 20;
  return { left, top, width: stage.clientWidth - left - (isWide ? MARGIN : 16), height: stage.clientHeight - top - below };
}

function fittingZoom({ left, top, right, bottom }) {
  const { width, height } = freeStage();
  return Math.min(width / (right - left), height / (bottom - top), presenting.isOn ? 2.4 : 1.15);
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

/** Show everything if it is readable; otherwise show the root and the nodes near it at a readable size. */
function home(options = { glide: true }) {
  if (fittingZoom(sheet.bounds) >= READABLE) {
    fit(options);
    return;
  }
  const { left, top, right, bottom } = sheet.bounds;
  const free = freeStage();
  const root = sheet.place.get(0);
  const zoom = 0.85;
  // centre everything if it fits, otherwise the root
  const middle = (start, room, low, high, at) => start + room / 2 - zoom * ((high - low) * zoom <= room ? (low + high) / 2 : at);
  Object.assign(view, sheet.upright
    ? { zoom, x: middle(free.left, free.width, left, right, root.x + faceOf(0).width / 2), y: free.top - zoom * top }
    : { zoom, x: free.left - zoom * left, y: middle(free.top, free.height, top, bottom, root.y + heightOf(0) / 2) });
  applyView(options);
  view.isFitted = true;
}

/** Return the bounds of some boxes with their conditions. */
function boundsOf(nodes) {
  const boxes = nodes.map((v) => ({ ...sheet.place.get(v), ...faceOf(v), height: heightOf(v) }));
  const before = (box) => (sheet.upright ? Math.max(box.conditionWidth - box.width, 0) / 2 : box.conditionWidth + 8);
  return {
    left: Math.min(...boxes.map((box) => box.x - before(box))), right: Math.max(...boxes.map((box) => box.x + box.width + 12)),
    top: Math.min(...boxes.map((box) => box.y - box.conditionMore)) - 20, bottom: Math.max(...boxes.map((box) => box.y + box.height)) + 12,
  };
}

/** Move as little as necessary to make these nodes, or at least the first one, visible. */
function reveal(nodes, options = { glide: true }) {
  const free = freeStage();
  if (view.zoom < READABLE / 2) view.zoom = READABLE;
  for (const { left, top, right, bottom } of [boundsOf(nodes), boundsOf(nodes.slice(0, 1))]) {
    view.x = moved(view.x, left * view.zoom, right * view.zoom, free.left, free.width);
    view.y = moved(view.y, top * view.zoom, bottom * view.zoom, free.top, free.height);
  }
  applyView(options);
}

/** Return the offset that moves a stretch into the room after `start`; if it is too long, only its beginning is visible. */
function moved(offset, low, high, start, room) {
  if (low + offset < start) return start - low;
  return high + offset > start + room ? Math.max(start + room - high, start - low) : offset;
}

/** Change what is shown while a node keeps its place on the screen. */
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

/** Select a node, or the leaf that represents its group, and show its details. */
function select(v, { focus = false, show = true } = {}) {
  const before = state.selected;
  state.selected = tree.standIn[v];
  for (const node of [before, state.selected]) if (drawn.nodes.has(node)) nodeElement(node, drawn.nodes.get(node));
  if (!drawn.nodes.has(state.selected)) draw();
  if (show) reveal([state.selected]);
  if (icicle.isOn) drawIcicle();
  else if (focus) drawn.nodes.get(state.selected).focus({ preventScroll: true });
  showNode();
}

/** Open all nodes above some, so that these are shown. */
function openTo(nodes) {
  for (const v of nodes) for (const above of pathTo(tree, v).slice(0, -1)) state.open.add(above);
}

/** Fold or unfold a node by hand. */
function fold(v, closes) {
  if (closes) [state.open.delete(v), state.folded.add(v)];
  else [state.open.add(v), state.folded.delete(v)];
}

function toggle(v) {
  if (isLeaf(v)) return;
  const opens = !state.open.has(v);
  around(v, () => fold(v, !opens));
  keepSelected(v);
  if (opens) reveal([v, ...shownChildren(v)]);
  say(opens ? `${count(shownChildren(v).length, "branch", "branches")} unfolded` : "folded");
  showNode();
}

/** Fold or unfold a node and everything below it. */
function toggleBelow(v, opens = !state.open.has(v)) {
  around(v, () => {
    for (const waiting = [v]; waiting.length;) {
      const node = waiting.pop();
      if (isLeaf(node)) continue;
      fold(node, !opens);
      waiting.push(...childrenOf(tree, node));
    }
  });
  keepSelected(v);
  say(opens ? "all below unfolded" : "all below folded");
  showNode();
}

/** If the selected node is no longer shown, select the node that hides it. */
function keepSelected() {
  if (sheet.place.has(state.selected)) return;
  const inSightAbove = pathTo(tree, state.selected).filter((v) => sheet.place.has(v));
  select(inSightAbove[inSightAbove.length - 1], { show: false });
}

/** Add a button that shows or hides a part of the boxes. */
function boxButton(name, path, part) {
  const added = toolButton(name, path, () => {
    added.setAttribute("aria-pressed", (part.isOn = !part.isOn));
    faces = new Map();
    if (icicle.isOn) showIcicle(false);
    if (state.open === first.open && state.open.size === first.size) chooseFirst();
    redraw();
    keepSelected();
    home();
  });
  added.setAttribute("aria-pressed", false);
}

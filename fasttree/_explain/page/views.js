/* Other views: the icicle, a row per level with a rectangle per node as wide as its weight; the presentation, which unfolds the tree at
   each key by one more level, or along a followed path by one more node; and the classes of leaves in their boxes. */

// -------------------------------------------------------------------------------------------------------------- the icicle

icicle.svg = make("svg", { id: "icicle", role: "tree", tabindex: 0 });
const CELL = 60, LEAST_CELL = 24, ABOVE_ROOT = 22, THIN = 2; // heights in pixels, and the least width of a node

/** Return the rectangles to draw, parents first: of the nodes above the root, and of those below it that are wide enough. */
function icicleCells() {
  const free = freeStage();
  const path = pathTo(tree, icicle.root).slice(0, -1).slice(-5);
  const cells = path.map((v, i) => ({ v, x: free.left, y: free.top + i * ABOVE_ROOT, width: free.width, height: ABOVE_ROOT }));
  const top = free.top + path.length * ABOVE_ROOT;
  const room = free.top + free.height - top;
  const rows = Math.max(Math.floor(room / LEAST_CELL), 2);
  const reached = [];
  for (const waiting = [{ v: icicle.root, x: free.left, width: free.width, row: 0 }]; waiting.length;) {
    const cell = waiting.pop();
    reached.push(cell);
    if (cell.thin || isLeaf(cell.v) || cell.row + 1 >= rows) continue;
    waiting.push(...icicleChildren(cell).reverse());
  }
  const height = Math.min(CELL, room / (1 + reached.reduce((most, cell) => Math.max(most, cell.row), 0)));
  return [...cells, ...reached.map((cell) => ({ ...cell, y: top + cell.row * height, height }))];
}

/** Return the cells of the children; neighbours that are too thin to draw share one, which is `thin` and counts them. */
function icicleChildren({ v, x, width, row }) {
  const cells = [];
  for (const child of items(v)) {
    const wide = tree.weight[v] > 0 ? width * tree.weight[child] / tree.weight[v] : 0;
    const last = cells[cells.length - 1];
    if (wide >= THIN) cells.push({ v: child, x, width: wide, row: row + 1 });
    else if (last?.thin) [last.width += wide, last.thin += remains.nodes[child] + 1];
    else cells.push({ v: child, x, width: wide, row: row + 1, thin: remains.nodes[child] + 1 });
    x += wide;
  }
  return cells.filter((cell) => cell.width >= 0.5);
}

function drawIcicle() {
  if (freeStage().height < 2 * LEAST_CELL) return; // as when it is printed
  icicle.root = remainsAt(icicle.root);
  const { svg } = icicle;
  const hadFocus = svg.contains(document.activeElement);
  svg.setAttribute("viewBox", `0 0 ${stage.clientWidth} ${stage.clientHeight}`);
  svg.setAttribute("aria-label", `${tree.title}: nodes by weight`);
  let cells = icicleCells();
  if (!cells.some((cell) => cell.v === state.selected && !cell.thin)) { // outside, or too light: zoom to it
    icicle.root = Math.max(tree.parent[state.selected], 0);
    cells = icicleCells();
  }
  svg.replaceChildren(...cells.map(cellElement));
  const selected = svg.querySelector(".chosen");
  if (selected) svg.append(selected); // its frame covers its neighbours
  svg.setAttribute("aria-activedescendant", selected?.id ?? "");
  if (hadFocus) svg.focus({ preventScroll: true });
}

function cellElement({ v, x, y, width, height, thin }) {
  const leaf = isLeaf(v);
  const group = make("g", { class: "cell", id: `cell-${v}` });
  const place = { x: x.toFixed(2), y: y.toFixed(2), width: width.toFixed(2), height: height.toFixed(2) };
  if (thin) {
    group.classList.add("thin");
    group.append(make("title", {}, `${count(thin, "node")} too light to draw`), make("rect", { class: "rest", ...place }));
    return group;
  }
  const visit = state.visits.get(tree.standIn[v]);
  group.setAttribute("role", "treeitem");
  group.setAttribute("aria-level", tree.depth[v] + 1);
  group.setAttribute("aria-selected", v === state.selected);
  group.setAttribute("aria-label", labelOf(v, { leaf }, true, visit));
  group.classList.toggle("chosen", v === state.selected);
  markNode(group, v, visit);
  group.append(
    titleOf(v),
    make("rect", { class: "plate", ...place }),
    make("rect", { class: "tint", ...place, fill: colourOf(v), "fill-opacity": opacityOf(v) }),
  );
  const room = width - 12;
  if (room >= 24) {
    const name = leaf ? formulaOf(v) || drawnAnswer(tree, v) : testedBy(v);
    const condition = drawnCondition(v).join(" ");
    const fits = room >= 60 || textLength(condition, TEXT_FONT) <= room;
    const isTall = height >= 38 && fits && tree.depth[v] > tree.depth[icicle.root];
    if (isTall) group.append(make("text", { x: x + 6, y: y + 17 }, clip(condition, room, TEXT_FONT)));
    group.append(make("text", { class: "name", x: x + 6, y: y + (isTall ? 34 : height / 2 + 4.5) }, clip(name, room, NAME_FONT)));
  }
  return group;
}

/** Select a node, and zoom to it if it is an inner one. */
function enterCell(v) {
  if (!isLeaf(v)) icicle.root = v;
  goTo(v, { focus: false });
}

function onIcicleKey(event) {
  const v = state.selected;
  const beside = v ? items(tree.parent[v]) : [0];
  const at = beside.indexOf(v);
  const to = {
    ArrowLeft: () => beside[at - 1], ArrowRight: () => beside[at + 1], ArrowUp: () => (v ? tree.parent[v] : undefined),
    ArrowDown: () => (isLeaf(v) ? undefined : heaviest(items(v))), Home: () => 0,
  }[event.key];
  if (to) {
    const next = to();
    if (next !== undefined) {
      if (!pathTo(tree, next).includes(icicle.root)) icicle.root = next;
      goTo(next, { focus: false });
    }
  } else if (event.key === "Enter" || event.key === " ") enterCell(v);
  else return;
  event.preventDefault();
}

function showIcicle(isOn) {
  icicle.isOn = isOn;
  icicle.root = 0;
  stage.classList.toggle("icicled", isOn);
  icicleButton.setAttribute("aria-pressed", isOn);
  if (isOn) drawIcicle();
  else home({});
}

stage.prepend(icicle.svg);
icicle.svg.addEventListener("click", (event) => {
  const cell = event.target.closest(".cell:not(.thin)");
  if (cell) enterCell(Number(cell.id.slice(5)));
});
icicle.svg.addEventListener("keydown", onIcicleKey);
new ResizeObserver(() => icicle.isOn && drawIcicle()).observe(stage);
const icicleButton = toolButton("Nodes by weight", "M2 2.5h12v3.5H2zM2 6h7.5v3.5H2zM9.5 6H14v3.5H9.5zM2 9.5h4v4H2z", () => showIcicle(!icicle.isOn));
icicleButton.setAttribute("aria-pressed", false);

// ------------------------------------------------------------------------------------------------------------ presentation

const caption = el("div", { class: "caption", hidden: true },
  button("‹", () => presentStep(presenting.at - 1), { "aria-label": "Step back" }),
  el("span", { id: "caption" }),
  button("›", () => presentStep(presenting.at + 1), { "aria-label": "Next step" }),
  button("✕", () => endPresentation(), { "aria-label": "End the presentation", title: "End (Escape)" }));

/** Return the steps: the nodes that each opens, its text, and the nodes to look at. */
function presentSteps() {
  if (state.visits.has(0)) {
    const path = pathTo(tree, state.selected).filter((v) => state.visits.has(v));
    const text = (v) => (ends(state.visits.get(v)) ? `${answerOf(v)} (${supportOf(v)})` : stepText(state.visits.get(v)));
    return path.map((v, i) => ({ open: path.slice(0, i), text: text(v), look: v }));
  }
  const nodes = shownNodes();
  const levels = 1 + nodes.reduce((most, v) => Math.max(most, tree.depth[v]), 0);
  const opened = (level) => nodes.filter((v) => tree.depth[v] < level && state.open.has(v));
  const text = (level) => (level ? `Level ${level} of ${levels - 1}` : `${count(tree.samples[0], "sample")}: ${answerOf(0)}`);
  return Array.from({ length: levels }, (_, level) => ({ open: opened(level), text: text(level), look: 0 }));
}

function present() {
  if (icicle.isOn) showIcicle(false);
  Object.assign(presenting, { isOn: true, steps: presentSteps(), before: new Set(state.open) });
  document.documentElement.classList.add("presenting");
  caption.hidden = false;
  presentStep(0);
}

function presentStep(i) {
  presenting.at = Math.min(Math.max(i, 0), presenting.steps.length - 1);
  const { open, text, look } = presenting.steps[presenting.at];
  state.open = new Set(open);
  redraw();
  if (fittingZoom(sheet.bounds) >= READABLE) fit();
  else {
    view.zoom = 1;
    home();
    if (look) reveal([look]);
  }
  $("caption").textContent = text;
  [caption.firstChild.disabled, caption.children[2].disabled] = [!presenting.at, presenting.at === presenting.steps.length - 1];
  say(text);
}

function endPresentation() {
  presenting.isOn = false;
  document.documentElement.classList.remove("presenting");
  caption.hidden = true;
  state.open = presenting.before;
  redraw();
  home();
  presentButton.focus();
}

function onPresentKey(event) {
  if (!presenting.isOn || event.ctrlKey || event.altKey || event.metaKey) return;
  const isButton = event.target.closest("button") && ["Enter", " "].includes(event.key);
  const keys = {
    ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, Enter: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Backspace: -1,
    Home: -Infinity, End: Infinity,
  };
  if (event.key === "Escape") endPresentation();
  else if (keys[event.key] && !isButton) presentStep(presenting.at + keys[event.key]);
  else if (event.key === "Tab" || isButton) return;
  event.preventDefault();
  event.stopPropagation();
}

stage.append(caption);
addEventListener("keydown", onPresentKey, true);
const presentButton = toolButton("Present", "M2 3h12v8H2zM8 11v2.5M5.5 13.5h5M7 5l3 2-3 2z", present);

// ------------------------------------------------------------------------------------ views: the classes of leaves in their boxes

const leafRows = { isOn: false };
const MOST_ROWS = 8; // classes of a target; the others are counted, and the details of a node list them
const CLASS_ROW = 15, SWATCH = 13, BESIDE = SWATCH + 8; // pixels

/** Return the rows of a leaf: colour, name and weight of each class, the heaviest first, for one target after the other. */
function classRows(v) {
  if (!leafRows.isOn || !isLeaf(v)) return [];
  return tree.columns.flatMap((columns, target) => {
    const { classes, colours } = tree.targets[target];
    const weightOf = (c) => tree.value[v * tree.k + tree.starts[target] + c];
    const present = classes.map((_, c) => c).filter((c) => tree.weight[v] > 0 && weightOf(c) > 0);
    present.sort((a, b) => weightOf(b) - weightOf(a));
    const cut = present.length > MOST_ROWS ? MOST_ROWS - 1 : present.length;
    const rows = present.slice(0, cut).map((c) => [colours[c], classes[c], weightOf(c)]);
    const rest = present.slice(cut);
    if (rest.length) rows.push([null, `… ${rest.length} more`, rest.reduce((sum, c) => sum + weightOf(c), 0)]);
    return rows;
  });
}

/** Return the width of a box in which the rows of a leaf are whole. */
function rowsWidth(v) {
  const wide = ([, name, weight]) => textLength(name, TEXT_FONT) + textLength(grouped(weightFigure(tree, weight)), TEXT_FONT);
  return Math.ceil(Math.max(0, ...classRows(v).map(wide))) + 2 * PAD + BESIDE;
}

/** Draw the rows of a leaf. */
function classMarks(v, width) {
  const group = make("g", { class: "leaf-rows" });
  classRows(v).forEach(([colour, name, weight], i) => {
    const y = BOX_HEIGHT + 5 + i * CLASS_ROW;
    const figure = grouped(weightFigure(tree, weight));
    const room = width - 2 * PAD - BESIDE - textLength(figure, TEXT_FONT) + 1;
    if (colour) group.append(make("rect", { x: PAD, y: y - 8, width: 8, height: 8, fill: colour }));
    const text = (x, anchor, words) => make("text", { class: "lesser", x, y, "text-anchor": anchor }, words);
    group.append(text(PAD + SWATCH, "start", clip(name, room, TEXT_FONT)), text(width - PAD, "end", figure));
  });
  return group;
}

if (!tree.isRegression) {
  const chartHeight = boxCharts.extra, drawChart = boxCharts.draw;
  boxCharts.extra = (v) => classRows(v).length * CLASS_ROW || chartHeight(v);
  boxCharts.room = rowsWidth;
  boxCharts.draw = (v, width) => (leafRows.isOn && isLeaf(v) ? classMarks(v, width) : drawChart(v, width));

  boxButton("Classes of the leaves in the boxes", "M2 4h2M7 4h7M2 8h2M7 8h7M2 12h2M7 12h7", leafRows);
}

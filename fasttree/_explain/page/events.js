/* Search, download, events, and the start of the page. */

// -------------------------------------------------------------------------------------------------------------------- search

let index = null; // the texts to search, in lower case; built on first use

function buildIndex() {
  const entry = (_, v) => ({ feature: "", categories: [], thresholds: [], answer: answerOf(v).toLowerCase() });
  index = Array.from({ length: tree.n }, entry);
  for (let v = 0; v < tree.n; v++) {
    if (!tree.branches[v]) continue;
    const feature = tree.feature[v];
    const { name, categories, ordinal } = tree.features[feature];
    index[v].feature = name.toLowerCase();
    if (tree.text.has(v)) index[v].thresholds = [thresholdText(tree, v).toLowerCase()];
    if (tree.cuts.has(v)) index[v].thresholds = tree.cuts.get(v).texts;
    if (ordinal) index[v].categories = index[v].thresholds;
    if (tree.kind[v] !== CATEGORY && tree.kind[v] !== NOMINAL) continue;
    for (const [b, child] of childrenOf(tree, v).entries()) {
      const codes = tree.kind[v] === NOMINAL ? codesTo(tree.table.get(v), b) : b < categories.length ? [b + 1] : [];
      index[child].categories.push(...codes.map((code) => categories[code - 1].toLowerCase()));
    }
  }
}

/** Return whether a node matches a query. */
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

const FEW = 40; // number of matches up to which all are unfolded

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

// style properties to copy as attributes, with their defaults
const LOOKS = { fill: "", "fill-opacity": "1", stroke: "none", "stroke-width": "1px", "stroke-dasharray": "none", opacity: "1" };
const LETTERS = { "font-family": "", "font-size": "", "font-weight": "400", "text-anchor": "start" };
const GEOMETRY = ["x", "y", "width", "height", "rx", "d", "dx", "cx", "cy", "r", "transform"];

/** Copy an element without invisible parts, with its style as attributes, which every program understands. */
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

/** Return the unfolded tree, or the icicle, as a stand-alone SVG. */
function picture() {
  if (icicle.isOn) {
    const free = freeStage();
    const bottom = Math.max(...icicleCells().map((cell) => cell.y + cell.height));
    const saved = paper(free.left - 8, free.top - 8, free.width + 16, Math.ceil(bottom - free.top) + 16);
    saved.append(...Array.from(icicle.svg.children, standAlone));
    return saved;
  }
  draw({ everything: true });
  const { left, top, right, bottom } = sheet.bounds;
  const [x, y] = [Math.round(left - MARGIN), Math.round(top - MARGIN)];
  const saved = paper(x, y, Math.round(right + MARGIN) - x, Math.round(bottom + MARGIN) - y);
  for (const edge of drawn.edges.values()) saved.append(standAlone(edge));
  for (const [v, node] of drawn.nodes) {
    const copy = standAlone(node);
    const { x: left, y: top } = sheet.place.get(v);
    copy.setAttribute("transform", `translate(${left} ${top})`);
    saved.append(copy);
  }
  draw();
  return saved;
}

/** Return an SVG of the colour of the page. */
function paper(x, y, width, height) {
  const saved = make("svg", { viewBox: `${x} ${y} ${width} ${height}`, width, height });
  const fill = getComputedStyle(document.documentElement).backgroundColor;
  saved.append(make("title", {}, tree.title), make("rect", { x, y, width, height, fill }));
  return saved;
}

function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say(`Drawing downloaded as ${name}`);
}

function written(picture) {
  return new XMLSerializer().serializeToString(picture);
}

function downloadSvg() {
  save(new Blob([written(picture())], { type: "image/svg+xml" }), "tree.svg");
}

const MOST_SIDE = 8192; // pixels of a PNG, which every browser can paint

/** Save the drawing as PNG, at twice its size if that is not too large. */
function downloadPng() {
  const saved = picture();
  const size = ["width", "height"].map((name) => Number(saved.getAttribute(name)));
  const scale = Math.min(2, MOST_SIDE / Math.max(...size));
  const [width, height] = size.map((length) => Math.max(Math.round(length * scale), 1));
  const image = new Image(width, height);
  image.onload = () => {
    const canvas = el("canvas", { width, height });
    canvas.getContext("2d").drawImage(image, 0, 0, width, height);
    canvas.toBlob((blob) => (blob ? save(blob, "tree.png") : say("The drawing is too large for a PNG")), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(written(saved))}`;
}

// -------------------------------------------------------------------------------------------------------------------- events

function onTreeKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const v = state.selected;
  const at = sheet.order.indexOf(v);
  const to = (node) => node !== undefined && select(node, { focus: true });
  const places = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: sheet.order.length - 1 };
  const steps = { ArrowUp: [0, 60], ArrowDown: [0, -60], ArrowLeft: [60, 0], ArrowRight: [-60, 0] };
  if (event.shiftKey && steps[event.key]) {
    view.x += steps[event.key][0];
    view.y += steps[event.key][1];
    applyView();
  } else if (event.key in places) to(sheet.order[places[event.key]]);
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

/** Go to the next node whose condition or box begins with the letters typed within half a second. */
function typeAhead(key) {
  const now = performance.now();
  typed.text = (now - typed.time < 500 ? typed.text : "") + key.toLowerCase();
  typed.time = now;
  setTimeout(() => { if (performance.now() - typed.time >= 500) typed.text = ""; }, 520);
  const at = sheet.order.indexOf(state.selected);
  const offset = typed.text.length > 1 ? 0 : 1; // a repeated letter moves on, several letters refine
  const ordered = [...sheet.order.slice(at + offset), ...sheet.order.slice(0, at + offset)];
  const begins = (text) => text.toLowerCase().replace(/^(=|≤|>|in \{)\s*/, "").startsWith(typed.text);
  const found = ordered.find((v) => begins(faceOf(v).name) || begins(faceOf(v).condition));
  if (found !== undefined) select(found, { focus: true });
}

/** Return the place of a pointer event on the stage. */
function spotOf(event) {
  const { left, top } = stage.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}

/** Return the node of a pointer event; from afar the nearest one. */
function nodeAt(event) {
  const element = event.target.closest(".node");
  if (element) return Number(element.id.slice(5));
  if (!drawn.far.length) return null;
  const [left, top] = spotOf(event);
  const x = (left - view.x) / view.zoom, y = (top - view.y) / view.zoom;
  const distance = (v) => Math.hypot(sheet.place.get(v).x + faceOf(v).width / 2 - x, sheet.place.get(v).y + heightOf(v) / 2 - y);
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
    wasDragged = true; // from now on all moves are captured, and the click at the end is ignored
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
  const speed = event.ctrlKey ? 0.01 : 0.0016; // a pinch on a touchpad is a wheel event with the control key, in small steps
  zoomBy(Math.exp(-event.deltaY * unit * speed), ...spotOf(event), {});
}

/** Fit again if the view was fitted; choose open nodes again if the user has not.  In a frame, a page may have no size at first. */
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

function turn() {
  state.upright = !state.upright;
  redraw();
  home();
}

function toggleAll(opens) {
  state.folded.clear();
  for (let v = 0; v < tree.n; v++) {
    if (opens && tree.branches[v]) state.open.add(v);
    else if (!opens) state.open.delete(v);
  }
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

/** Print the whole drawing, whatever part of it is on the screen. */
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
  const add = (...parts) => $("legend").append(...parts);
  for (const [target, { classes, colours }] of tree.targets.entries()) {
    if (tree.isRegression && target) break;
    const heading = headingOf(tree, target);
    if (heading) add(el("strong", {}, heading));
    if (tree.isRegression) {
      const scale = el("span", { class: "scale" });
      scale.style.setProperty("--colour", colours[0]);
      const [low, high] = tree.range[0];
      add(el("span", {}, meanText(low, tree.decimals)), scale, el("span", {}, meanText(high, tree.decimals)));
    } else {
      add(...classes.slice(0, most).map((name, c) => el("span", {}, swatch(colours[c]), name)));
      if (classes.length > most) add(el("span", {}, `and ${classes.length - most} more`));
    }
  }
  if (tree.given) add("upper bars: training, lower bars: samples given");
}

function listen() {
  const acts = {
    keydown: onTreeKey, click: onClick, pointerdown: onPointerDown, pointermove: onPointerMove, pointerup: onPointerUp, pointercancel: onPointerUp,
  };
  for (const [name, act] of Object.entries(acts)) svg.addEventListener(name, act);
  svg.addEventListener("wheel", onWheel, { passive: false });
  addEventListener("keydown", onPageKey);
  new ResizeObserver(onResize).observe(stage);
  addEventListener("hashchange", followLink);
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
    previous: () => showMatch(state.current - 1), download: downloadSvg, png: downloadPng, theme: changeTheme, "help-button": () => $("help").showModal(),
    "zoom-in": () => zoomBy(1.25), "zoom-out": () => zoomBy(0.8), fit: () => (icicle.isOn ? enterCell(0) : fit()), turn, "open-all": unfoldAll, "fold-all": foldToFirst,
  };
  for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", act);
  for (const tab of document.querySelectorAll("[role=tab]")) {
    tab.addEventListener("click", () => showTab(tab.id.slice(4)));
    tab.addEventListener("keydown", onTabKey);
  }
}

const MOST_OPEN = 64;
const first = { open: null, size: 0 }; // the nodes opened at first

/** Open the requested nodes, or else as many of the heaviest as are readable at once, and choose the better orientation. */
function chooseFirst({ turn = true } = {}) {
  state.folded.clear();
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
  if (location.hash) followLink();
  listen();
}

start();

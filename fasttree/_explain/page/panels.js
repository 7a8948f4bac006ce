/* The panels: details of a node, a sample and its path, pruning. */

// -------------------------------------------------------------------------------------------------------- panels: the details

/** Return pairs of a flat list. */
function pairsOf(flat) {
  return flat.filter((_, i) => i % 2 === 0).map((key, i) => [key, flat[2 * i + 1]]);
}

function countIn(pairs) {
  return pairs.reduce((sum, [, n]) => sum + n, 0);
}

/** Add a button with a picture to those of the drawing. */
function toolButton(name, path, act) {
  const picture = make("svg", { viewBox: "0 0 16 16", "aria-hidden": true });
  picture.append(make("path", { d: path }));
  const added = el("button", { class: "icon", "aria-label": name, title: name, click: act }, picture);
  document.querySelector(".tools").append(added);
  return added;
}

function goTo(v, { focus = true } = {}) {
  if (!sheet.place.has(tree.standIn[v])) {
    openTo([v]);
    redraw();
  }
  select(v, { focus });
}

const panelBlocks = []; // more parts of a node's details: functions of the node that return elements

function showNode() {
  updateLink();
  const v = state.selected;
  const leaf = isLeaf(v);
  const name = leaf ? "" : testedBy(v), lead = leaf ? "Predicts " : "Would predict ";
  $("panel-node").replaceChildren(
    el("h2", {}, leaf ? `Node ${v}: ${tree.branches[v] ? "pruned to a leaf" : "a leaf"}` : `Node ${v}: ${name}`),
    tree.models ? formulaLine(v, lead) : answerLine(sharesOf(tree, v), lead),
    tree.groups.has(v) ? note(`No training sample had one of these ${tree.groups.get(v).length} categories.`) : "",
    !leaf && isByHand(v) ? note("This test was set by hand.") : "",
    nodeButtons(v, leaf),
    ...shareTables(sharesOf(tree, v), (c) => tree.value[v * tree.k + c]),
    ...panelBlocks.flatMap((block) => block(v)),
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
    return [target ? " and " : "", tree.columns.length > 1 ? `${headingOf(tree, target)} ` : "", el("strong", {}, text), share];
  });
  return el("p", { class: "answer" }, lead, ...words);
}

function nodeButtons(v, leaf) {
  const follow = button("Try values that lead here", () => followTo(v));
  if (leaf) return buttons(follow);
  return buttons(button(state.open.has(v) ? "Fold" : "Unfold", () => toggle(v)),
    button("Unfold all below", () => toggleBelow(v, true)), button("Fold all below", () => toggleBelow(v, false)), follow);
}

const MOST_CLASSES = 12;

/** Return a table per target with share and weight of its classes, the largest first. */
function shareTables(shares, weightOf = null) {
  if (tree.isRegression) return [];
  return tree.columns.map((width, target) => {
    const { classes, colours } = tree.targets[target];
    const start = tree.starts[target];
    const present = classes.map((_, c) => c).filter((c) => shares[start + c] > 0);
    present.sort((a, b) => shares[start + b] - shares[start + a]);
    const rows = present.slice(0, MOST_CLASSES).map((c) => shareRow(classes[c], colours[c], shares[start + c], weightOf?.(start + c)));
    const more = present.length - MOST_CLASSES;
    if (more > 0) rows.push(el("tr", {}, el("td", { class: "note", colspan: 4 }, `and ${more} more`)));
    const head = el("tr", {}, el("th", {}, headingOf(tree, target) || "Class"),
      el("th", {}, el("span", { class: "unseen" }, "Bar")), right("Share", "th"), weightOf ? right("Weight", "th") : "");
    return el("table", { class: "shares" }, el("thead", {}, head), el("tbody", {}, ...rows));
  });
}

function shareRow(name, colour, share, weight) {
  const bar = { height: 8, rx: 2 };
  const bars = meter(make("rect", { class: "track", width: "100%", ...bar }), make("rect", { width: `${100 * share}%`, fill: colour, ...bar }));
  return el("tr", {}, el("td", {}, swatch(colour), name), el("td", { class: "meter" }, bars), right(percent(share)),
    weight === undefined ? "" : right(grouped(weightFigure(tree, weight))));
}

function figures(v, leaf) {
  const list = [["Samples", separated(tree.samples[v])]];
  if (tree.weight !== tree.samples) list.push(["Weight", weightText(tree, v)]);
  list.push(["Share of all", percent(tree.weight[v] / tree.weight[0])], ["Impurity", fixed(tree.impurity[v], 4)]);
  if (!leaf) list.push(["Gain of the test", fixed(tree.gain[v], 4)]);
  if (!leaf) list.push(["Below", `${count(remains.nodes[v], "node")}, ${leavesText(remains.leaves[v])}`]);
  if (tree.loss) {
    const shares = sharesOf(tree, v);
    list.push(["Expected cost", fixed(expectedLoss(tree, Array.from(shares), bestClass(tree, shares)), 4)]);
  }
  list.push(["Depth", String(tree.depth[v])]);
  if (tree.given) list.push(["Samples given", givenText(v)]);
  return el("dl", { class: "figures" }, ...terms(list));
}

const MOST_STEPS = 60; // listed steps of a path

function pathList(v) {
  const path = pathTo(tree, v).slice(1);
  if (!path.length) return note("All samples start here.");
  const link = (node) => button(cameBy(node), () => goTo(tree.parent[node]), { class: "link", title: `asked at node ${tree.parent[node]}` });
  const first = Math.max(path.length - MOST_STEPS, 0);
  return el("ol", { class: "steps", start: first + 1 }, ...path.slice(first).map((node) => el("li", {}, link(node))));
}

function ruleBlock(v) {
  const rule = el("div", { class: "rule", id: "rule" }, ruleText(tree, v));
  return el("div", {}, rule, buttons(copyButton("Copy the rule", rule, "Rule")));
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
const usedFeatures = [...new Set([...tree.feature, ...surrogateFeatures, ...(tree.models ? modelFeatures() : [])])].filter((feature) => feature >= 0);
const fields = new Map(); // the control of each feature that the tree uses
let row = -1; // index of the followed sample among those of the page; -1 for none

function buildSample() {
  const panel = $("panel-sample");
  if (!usedFeatures.length) {
    panel.append(el("p", {}, "This tree has no tests: all samples get the same prediction."));
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
    el("p", { class: "note last" }, "An empty field is a missing value.", tree.models ? " In a model, it counts as the mean of its feature." : "", unused ? ` The tree never looks at ${count(unused, "other feature")}.` : ""),
    buttons(button("Stop following", stopFollowing, { id: "stop" })),
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
  const some = rows.row.length < rows.of ? ` (${rows.row.length} of ${separated(rows.of)})` : "";
  const chooser = el("select", { id: "row", "aria-label": "Row of the data" }, el("option", { value: -1 }, `row …${some}`), ...options);
  chooser.addEventListener("change", () => followRow(Number(chooser.value)));
  const turn = (by) => () => followRow((row + by + rows.row.length + Number(row < 0 && by < 0)) % rows.row.length);
  return beside("Row before", turn(-1), chooser, "Next row", turn(1));
}

/** Put a control between buttons for previous and next. */
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

/** Follow a sample of the page; numbers of single precision are shown in their shortest form, but tested as float32. */
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

function heaviest(nodes) {
  return nodes.reduce((a, b) => (tree.weight[b] > tree.weight[a] ? b : a));
}

function heaviestLeaf() {
  let v = 0;
  while (tree.branches[v]) v = heaviest(childrenOf(tree, v));
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

/** Walk a sample down the tree, open the nodes that it passes, select its end, and show the prediction. */
function follow(sample) {
  state.sample = sample;
  const visits = walk(tree, sample, isLeaf);
  state.visits = new Map(visits.map((visit) => [tree.standIn[visit.node], visit]));
  const most = visits.reduce((a, b) => (ends(b) && (!ends(a) || b.part > a.part) ? b : a));
  openTo(visits.filter((visit) => visit.part > 0.02 || visit === most).slice(0, 200).map((visit) => visit.node));
  openTo([most.node]);
  redraw();
  select(most.node, { show: false });
  showWay(most.node);
  showResult(visits);
}

/** Make the path to a node visible; zoom out if it is still readable. */
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
    const isAsked = visits.some(({ node, decision }) => (decision ? [tree.feature[node], decision.surrogate?.feature] : tree.models ? featuresOf(node) : []).includes(feature));
    $("panel-sample").querySelector(`label[for="${control.id}"]`).classList.toggle("asked", isAsked);
  }
  if (!isFollowing) {
    $("way").replaceChildren();
    $("result").replaceChildren(note("Change a value, or choose a row: its way is marked in the tree."),
      buttons(button("Follow these values", () => follow(readFields()), { class: "main-action" })));
    return;
  }
  const shares = predict(tree, visits, state.sample);
  const nEnds = visits.filter(ends).length;
  const line = answerLine(shares, "Predicts ");
  $("result").replaceChildren(...[
    line,
    nEnds > 1 ? note(`The sample goes several ways: ${nEnds} ends each have a part of it.`) : "",
    truthLine(shares),
    ...shareTables(shares), tree.models ? sumTable(visits.find(ends).node, state.sample) : "",
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

/** Describe the test of a node and its result. */
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
  if (tree.models) return buildFolding(panel);
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
    note(el("span", { class: "key" }), `${subtrees.errorName} in training`),
    subtrees.given ? note(el("span", { class: "key given" }), `${subtrees.errorName} on the samples given`) : "",
    buttons(button("Whole tree", () => prune(0)),
      subtrees.given ? button(`Least error (${leavesText(subtrees.leaves[least])})`, () => prune(least)) : ""),
    buildPython(),
  );
  showPruned();
}

/** Show a subtree of the sequence, as much of it as is readable at once. */
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

function showPruned() {
  const { step } = state;
  const { alpha, leaves, error, given, errorName } = subtrees;
  const list = [["Training", `${errorName} ${errorText(error[step])}`]];
  if (given) list.push(["Samples given", `${errorName} ${errorText(given[step])}`]);
  $("slider").value = step;
  $("slider").setAttribute("aria-valuetext", [leavesText(leaves[step]), ...list.map((pair) => pair.join(": "))].join(", "));
  $("pruned").replaceChildren(el("strong", {}, leavesText(leaves[step])), step ? ` of ${separated(leaves[0])}` : ", the whole tree");
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

/** Return the numbers of leaves to write below the axis: a few powers, and the ends. */
function leafMarks() {
  const most = subtrees.leaves[0];
  const base = most > 1000 ? 10 : most > 60 ? 4 : 2;
  const marks = [];
  for (let leaves = 1; leaves < most; leaves *= base) marks.push(leaves);
  return [...marks.filter((leaves) => chartX(leaves) > CHART.left + 34), most];
}

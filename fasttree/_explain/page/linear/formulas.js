/* Linear models in the leaves of a tree: their formulas in the boxes, the sum for a followed sample, and the fitted lines. */

// ------------------------------------------------------------------------------------------------ formulas: the predictions

/** Return the terms of a node's model: coefficients of features, or of indicators of the category with a code. */
function termsOf(tree, v) {
  const { start, column, coefficient, columns } = tree.models;
  return column.slice(start[v], start[v + 1]).map((j, i) => {
    const [feature, code, name, filling] = columns[j];
    return { column: j, feature, code, name, filling, coefficient: coefficient[start[v] + i] };
  });
}

function featuresOf(v) {
  return termsOf(tree, v).map((term) => term.feature);
}

/** Return the features of the models of leaves, some several times. */
function modelFeatures() {
  return Array.from(tree.branches, (b, v) => (b ? [] : featuresOf(v))).flat();
}

/** Return the parts of a node's model for a sample, in which a missing value counts as the mean, their sum, and the bounded prediction.
    `means` has the values of columns that do not follow from the sample. */
function applied(tree, v, sample, means = new Map()) {
  const { intercept, lower, upper } = tree.models;
  let sum = intercept[v]; // in the order of the library, whose bits the page has
  const parts = termsOf(tree, v).map((term) => {
    const given = sample[term.feature];
    const isFilled = Number.isNaN(given);
    const x = means.get(term.column) ?? (isFilled ? term.filling : term.code ? Number(given === term.code) : given);
    sum += term.coefficient * x;
    return { ...term, x, isFilled };
  });
  return { parts, sum, value: Math.min(Math.max(sum, lower[v] ?? -Infinity), upper[v] ?? Infinity) };
}

// ---------------------------------------------------------------------------------------------------- formulas: in the boxes

const MOST_FORMULA = 7; // lines

/** Break the formula of a node into lines before its signs and bounds; `aside` is taken in the first line. */
function formulaLines(v, most, aside) {
  const lines = [];
  const fits = (text, i) => textLength(text, NAME_FONT) <= most - (i ? 0 : aside);
  for (const part of tree.models.text[v].split(/ (?=[+-] |from -?\d|to -?\d)/)) {
    const last = lines.length - 1;
    if (lines.length && fits(`${lines[last]} ${part}`, last)) lines[last] += ` ${part}`;
    else lines.push(part);
  }
  const shown = lines.slice(0, MOST_FORMULA);
  if (lines.length > MOST_FORMULA) shown[MOST_FORMULA - 1] += " …";
  return shown.map((line, i) => clip(line, most - (i ? 0 : aside), NAME_FONT));
}

// ---------------------------------------------------------------------------------------------------- formulas: in the panels

/** Write a number with four digits, or more if needed for one after the point. */
function roundText(number) {
  const before = Math.abs(number) < 1e15 ? String(Math.trunc(Math.abs(number))).length : 0;
  return grouped(String(Number(number.toPrecision(Math.min(Math.max(tree.decimals + 2, before + 1), 17)))));
}

function formulaLine(v, lead) {
  return el("p", { class: "answer" }, lead, el("strong", { class: "model-text" }, tree.models.text[v]));
}

function row4(cells, tag = "td") {
  return el("tr", {}, el(tag, {}, cells[0]), ...cells.slice(1).map((text) => right(text, tag)));
}

/** Return the coefficients of a node's model and the means for missing values. */
function modelBlock(v) {
  const terms = termsOf(tree, v);
  if (!terms.length) return [];
  const body = terms.map(({ name, coefficient, filling }) => row4([name, roundText(coefficient), roundText(filling)]));
  return [
    el("h3", {}, "Model"),
    isLeaf(v) ? "" : note("That of the leaf that the node becomes if everything below it is cut off."),
    el("table", {}, el("thead", {}, row4(["Term", "Coefficient", "If missing"], "th")), el("tbody", {}, row4(["Intercept", roundText(tree.models.intercept[v]), ""]), ...body)),
  ].filter(Boolean);
}

/** Return the sum of a leaf's model for a sample, a row per term. */
function sumTable(v, sample) {
  const { parts, sum, value } = applied(tree, v, sample);
  if (!parts.length) return "";
  const body = parts.map(({ name, coefficient, x, isFilled }) => row4(
    [`${name}${isFilled ? " (missing: mean)" : ""}`, roundText(x), roundText(coefficient), roundText(coefficient * x)]));
  const bounded = value === sum ? [] : [row4(["Bounded at", "", "", roundText(value)])];
  return el("table", { class: "shares", id: "sum" }, el("thead", {}, row4(["Term", "Value", "Coefficient", "Adds"], "th")),
    el("tbody", {}, row4(["Intercept", "", "", roundText(tree.models.intercept[v])]), ...body, row4(["Sum", "", "", roundText(sum)]), ...bounded));
}

panelBlocks.push(modelBlock);

// ------------------------------------------------------------------------------------------------------ formulas: the pruning

/** Build the panel of a tree whose pruning has no sequence. */
function buildFolding(panel) {
  const { given, errorName } = subtrees;
  panel.append(
    el("h2", {}, "Pruning"),
    note("Cost-complexity pruning compares leaves that predict constants, so there is no slider. The details of a node show the model that it has as a leaf."),
    given ? el("dl", { class: "figures" }, ...terms([["Samples given", `${errorName} ${errorText(given[0])}`]])) : "",
    buildPython(),
  );
}

// ----------------------------------------------------------------------------------------------------- formulas: fitted lines

/** Return the line of a leaf's model along the feature of its chart, as far as the chart reaches; a dot for a followed sample. */
function lineMarks(v, { x, y, width, height }) {
  const { along, at: means } = charts.get(v);
  const { edges, place } = axisOf(v);
  const isFollowed = state.visits.has(v);
  const others = isFollowed ? state.sample : tree.features.map(() => NaN);
  const at = (value) => applied(tree, v, Object.assign(others.slice(), { [along]: value }), new Map(isFollowed ? [] : pairsOf(means)));
  const spot = (value, up) => `${(x + place(value) * width).toFixed(1)} ${(y + height * (1 - upOf(up))).toFixed(1)}`;
  const slope = termsOf(tree, v).find(({ column }) => column === along).coefficient;
  const [low, high] = [edges[0], edges[edges.length - 1]];
  // the line bends at the bounds, and leaves the chart at its lower and upper end
  const bends = [tree.models.lower[v], tree.models.upper[v], leastTarget, mostTarget].filter((bound) => bound !== null);
  const places = [low, ...bends.map((bound) => (bound - at(0).sum) / slope).filter((value) => value > low && value < high), high].sort((a, b) => a - b);
  const slack = 1e-9 * (mostTarget - leastTarget);
  const points = places.map((value) => [value, at(value).value]).filter(([, up]) => up >= leastTarget - slack && up <= mostTarget + slack);
  const marks = points.length > 1 ? [make("path", { class: "line", d: `M${points.map((point) => spot(...point)).join("L")}` })] : [];
  const own = others[along];
  if (isFollowed && !Number.isNaN(own)) {
    const [left, top] = spot(own, at(own).value).split(" ");
    marks.push(make("circle", { class: "dot", cx: left, cy: top, r: 4 }));
  }
  return marks;
}

/** Return the note on the line of a leaf's model. */
function lineWords(v) {
  const others = state.visits.has(v) ? "are those of the followed sample" : "have their means here";
  const along = termsOf(tree, v).length < 2 ? "" : ` along the feature whose term varies most; the other features ${others}`;
  return ` Line: the model${along}. Larger dots: more samples.`;
}

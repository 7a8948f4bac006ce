/* The panels: the list of the terms, the shape of one, values and what they lead to. */

const order = model.terms.map((_, i) => i).sort((a, b) => model.terms[b].importance - model.terms[a].importance || a - b);

// ----------------------------------------------------------------------------------------------------------------- the terms

function buildTerms() {
  const most = Math.max(...model.terms.map((term) => term.importance)) || 1;
  for (const i of order) {
    const { name, importance } = model.terms[i];
    const bar = meter(make("rect", { width: `${100 * importance / most}%`, height: 5, rx: 2 }));
    const figure = el("span", { class: "right" }, fixed(importance, model.decimals));
    $("terms").append(el("li", {}, button("", () => showTerm(i), { id: `term-${i}` })));
    $(`term-${i}`).append(el("span", { class: "what" }, name), figure, bar);
  }
}

function showTerm(i) {
  chosen.term = i;
  model.terms.forEach((_, j) => $(`term-${j}`).setAttribute("aria-current", i === j));
  const term = model.terms[i];
  const readout = el("p", { class: "readout", "aria-hidden": "true" });
  const tell = (text) => { readout.textContent = text; };
  const what = isPair(term) ? mapWords(term) : `Band: two standard deviations over ${count(model.bags, "bag")} on each side. Grey: training samples.`;
  $("shape").replaceChildren(...[
    el("h2", {}, term.name),
    note(`${scoreName()}; importance ${fixed(term.importance, model.decimals)}. ${what} A click chooses a value.`),
    ...term.byHand.map((change) => note(`Changed by hand: ${change}.`)),
    isPair(term) ? "" : scaleChoice(),
    model.link === "softmax" && !isPair(term) ? classLegend() : "",
    pictureOf(term, choose, tell), readout, isPair(term) ? "" : scoreTable(term),
  ].filter(Boolean));
}

function mapWords(term) {
  const whose = model.link === "softmax" ? ` to the score of ${model.classes[chosen.output]}` : "";
  return `Blue adds${whose}, red takes away; full colour is ${fixed(largestOf(term, chosen.output), model.decimals)}.`;
}

function classLegend() {
  return el("p", { class: "legend-line" }, ...model.classes.map((name, k) => el("span", {}, swatch(model.colours[k]), name)));
}

function scaleChoice() {
  const box = el("input", { type: "checkbox", change: () => {
    chosen.isOneScale = box.checked;
    showTerm(chosen.term);
    $("shape").querySelector("input").focus();
  } });
  box.checked = chosen.isOneScale;
  return el("label", { class: "check" }, box, "One scale for all shapes");
}

/** Return the scores of a term as a table, neighbours with equal scores in one row; it is filled when it is opened. */
function scoreTable(term) {
  const [axis] = term.axes;
  const details = el("details", {}, el("summary", {}, "As a table"));
  details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    const head = el("tr", {}, el("th", {}, model.features[axis.feature].name), ...outputs().map((k) => right(model.link === "softmax" ? model.classes[k] : "Adds", "th")));
    const rows = runsOf(term).map(([first, last]) => el("tr", {}, el("td", {}, runText(axis, first, last)),
      ...outputs().map((k) => right(withBand(term.scores[k][first], meanOf(term.deviations[k].slice(first, last + 1)))))));
    details.append(el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
  }, { once: true });
  return details;
}

const meanOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

/** Return the first and the last bin of each run of equal scores; categories are alone, and missing values last. */
function runsOf(term) {
  const [axis] = term.axes;
  const bins = drawnBins(term).filter(Boolean);
  const runs = [];
  for (const bin of bins) {
    const last = runs[runs.length - 1];
    if (axis.cuts && last && outputs().every((k) => term.scores[k][bin] === term.scores[k][last[0]])) last[1] = bin;
    else runs.push([bin, bin]);
  }
  return drawnBins(term).includes(0) ? [...runs, [0, 0]] : runs;
}

function runText(axis, first, last) {
  if (first === last) return binText(axis, first);
  if (first === 1) return last === axis.bins - 1 ? "any value" : binText({ ...axis, cuts: [axis.cuts[last - 1]] }, 1);
  if (last === axis.bins - 1) return binText({ ...axis, cuts: [axis.cuts[first - 2]] }, 2);
  return binText({ ...axis, cuts: [axis.cuts[first - 2], axis.cuts[last - 1]] }, 2);
}

// ------------------------------------------------------------------------------------------------------------ the prediction

function buildSample() {
  const grid = el("div", { class: "fields" });
  for (const j of new Set(order.flatMap((i) => model.terms[i].axes.map((axis) => axis.feature)))) {
    addField(grid, j, el("option", { value: "other" }, "(not seen in training)"));
    fields.get(j).addEventListener("focus", () => showTerm(model.terms.findIndex((term) => term.axes[0].feature === j)));
  }
  $("sample").append(...[
    el("h2", {}, "Prediction"), model.rows ? rowChooser() : "", el("div", { id: "result" }),
    el("h3", {}, "Values"), grid, note("An empty field is a missing value. At first, each value is the median, or the most frequent."),
  ].filter(Boolean));
}

/** Take a value that was chosen in a picture. */
function choose(feature, value) {
  row = -1;
  const sample = chosen.sample.slice();
  sample[feature] = value;
  writeFields(sample);
  predictFor(sample);
}

function predictFor(sample) {
  chosen.sample = sample;
  const scores = scoresOf(model, sample);
  if ($("row")) $("row").value = row;
  const line = el("p", { class: "answer" }, "Predicts ", el("strong", {}, answerText(scores)));
  if (model.link === "softmax" && !chosen.isAsked) chosen.output = classOf(model, scores);
  $("result").replaceChildren(...[line, truthLine(scores), ...shareTable(scores), outputChoice(), fallPicture(sample, scores)].filter(Boolean));
  showTerm(chosen.term);
  say(line.textContent);
}

function answerText(scores) {
  return model.link === "identity" ? grouped(fixed(scores[0], model.decimals)) : model.classes[classOf(model, scores)];
}

function truthLine(scores) {
  const truth = row >= 0 ? model.rows.truth?.[row] : undefined;
  if (truth === undefined) return "";
  if (model.link !== "identity") return note(`The data say ${truth}: ${answerText(scores) === truth ? "right" : "wrong"}.`);
  return note(`The data say ${grouped(fixed(truth, model.decimals))}: off by ${grouped(fixed(Math.abs(truth - scores[0]), model.decimals))}.`);
}

function shareTable(scores) {
  if (model.link === "identity") return [];
  const shares = probabilitiesOf(model, scores);
  const rows = model.classes.map((name, c) => [name, shares[c], model.colours[c] ?? "var(--accent)"]).sort((a, b) => b[1] - a[1]).slice(0, 12);
  const bar = (share, fill) => meter(make("rect", { width: `${100 * share}%`, height: 8, rx: 2, fill }));
  const body = rows.map(([name, share, fill]) => el("tr", {}, el("td", {}, name), el("td", { class: "meter" }, bar(share, fill)), right(percent(share))));
  return [el("table", { class: "shares" }, el("tbody", {}, ...body))];
}

/** Return the list from which the reader chooses the class whose score is explained, if there are several. */
function outputChoice() {
  if (model.link !== "softmax") return "";
  const choice = el("select", { id: "output", "aria-label": "Class of the score", change: () => {
    Object.assign(chosen, { output: Number(choice.value), isAsked: true });
    predictFor(chosen.sample);
    $("output").focus();
  } }, ...model.classes.map((name, k) => el("option", { value: k }, `Score of ${name}`)));
  choice.value = chosen.output;
  return choice;
}

// ------------------------------------------------------------------------------------------------------------- the waterfall

const MOST_STEPS = 12, STEP = 34, FALL = { width: 340, left: 4, right: 336 };

/** Return the steps from the intercept to the score: texts, and what each adds. */
function stepsTo(sample, k) {
  const parts = contributionsOf(model, sample, k);
  const steps = parts.map(({ term, score }) => {
    const values = term.axes.map(({ feature }) => valueText(feature, sample[feature]));
    return [`${term.name} = ${values.join(", ")}`, score, model.terms.indexOf(term)];
  });
  if (steps.length <= MOST_STEPS) return steps;
  const rest = steps.slice(MOST_STEPS - 1);
  return [...steps.slice(0, MOST_STEPS - 1), [`${rest.length} other terms`, rest.reduce((sum, [, score]) => sum + score, 0), -1]];
}

function valueText(feature, x) {
  if (Number.isNaN(x)) return "missing";
  const { categories } = model.features[feature];
  return categories ? categories[x - 1] : grouped(String(Number(x.toPrecision(6))));
}

/** Draw how the terms lead from the intercept to the score. */
function fallPicture(sample, scores) {
  const k = chosen.output;
  const steps = stepsTo(sample, k);
  const ends = [model.intercept[k]];
  for (const [, added] of steps) ends.push(ends[ends.length - 1] + added);
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const at = (score) => FALL.left + (FALL.right - FALL.left) * (high > low ? (score - low) / (high - low) : 0.5);
  const height = (steps.length + 2) * STEP - 12;
  const picture = make("svg", { class: "fall", viewBox: `0 0 ${FALL.width} ${height}`, role: "img", "aria-label": `From the intercept ${signed(ends[0])} to the score ${signed(scores[k])}` });
  const line = (y, text, figure) => [make("text", { x: FALL.left, y: y + 11 }, clip(text, 240, "12px")), make("text", { class: "figure", x: FALL.right, y: y + 11 }, figure)];
  picture.append(...line(0, "intercept", signed(ends[0])));
  steps.forEach(([text, added], i) => {
    const y = (i + 1) * STEP - 10;
    const [from, to] = [at(ends[i]), at(ends[i + 1])];
    const bar = { x: Math.min(from, to).toFixed(1), y: y + 16, width: Math.max(Math.abs(to - from), 1).toFixed(1), height: 9, rx: 2 };
    picture.append(...line(y, text, signed(added)), make("rect", { class: added < 0 ? "down" : "up", ...bar }),
      make("path", { class: "link-line", d: `M${to.toFixed(1)} ${y + 16}v${STEP}` }));
  });
  const name = { identity: "prediction", logit: `log odds of ${model.classes?.[1]}` }[model.link] ?? `score of ${model.classes[k]}`;
  picture.append(...line(height - 16, name, signed(scores[k])));
  return el("div", {}, el("h3", {}, "From the intercept to the score"), picture);
}

// --------------------------------------------------------------------------------------------------------------------- start

function start() {
  const kind = model.link === "identity" ? "regression" : `classification, ${count(model.classes.length, "class", "classes")}`;
  $("summary").textContent = `additive model · ${kind} · ${count(model.terms.length, "term")} · ${count(model.bags, "bag")}`;
  buildTerms();
  buildSample();
  chosen.term = order[0];
  const sample = model.features.map(() => NaN);
  for (const term of model.terms) {
    const [axis] = term.axes;
    if (!isPair(term)) sample[axis.feature] = valueIn(axis, model.start[axis.feature]);
  }
  writeFields(sample);
  predictFor(sample);
  $("theme").setAttribute("aria-pressed", isDark());
  $("theme").addEventListener("click", changeTheme);
}

start();

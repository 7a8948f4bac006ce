/* The panels: the rules, and values with what they lead to. */

const model = JSON.parse($("data").textContent);
const MOST = 100; // rules that are shown at once
const entries = model.members.flatMap((rules, member) => rules.map((rule) => ({ rule, member })));
entries.forEach((entry, i) => Object.assign(entry, { number: i, text: textOf(entry.rule).toLowerCase() }));
const ORDERS = {
  "as fitted": (a, b) => a.number - b.number,
  "most samples first": (a, b) => b.rule.cover - a.rule.cover || a.number - b.number,
  "smallest error first": (a, b) => a.rule.error - b.rule.error || a.number - b.number,
  "largest mean first": (a, b) => b.rule.mean - a.rule.mean || a.number - b.number,
  "fewest conditions first": (a, b) => a.rule.conditions.length - b.rule.conditions.length || a.number - b.number,
};
let sample = model.features.map(() => NaN);
let most = MOST;

const figure = (number) => grouped(fixed(Number(number.toPrecision(6)), 12));

function textOf(rule) {
  return `${rule.conditions.map((condition) => condition.text).join(" and ")} ${rule.formula}`;
}

// ----------------------------------------------------------------------------------------------------------------- the rules

/** Return the rules that the reader asks for, in the order asked for. */
function chosenRules() {
  const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const member = Number($("member").value);
  const found = entries.filter((entry) => (member < 0 || entry.member === member)
    && words.every((part) => entry.text.includes(part)) && (!$("holding").checked || holds(entry.rule, sample)));
  return found.sort(ORDERS[$("sort").value]);
}

function showRules() {
  const found = chosenRules();
  const held = found.filter(({ rule }) => holds(rule, sample)).length;
  $("shown").textContent = `${count(found.length, "rule")} of ${separated(entries.length)}; ${held ? separated(held) : "none"} of these ${held === 1 ? "holds" : "hold"} for the values on the right.`;
  $("rules").replaceChildren(...found.slice(0, most).map(card));
  $("more").hidden = found.length <= most;
}

function card({ rule, member, number }) {
  const isHeld = holds(rule, sample);
  const conditions = rule.conditions.flatMap((condition, i) => {
    const isPassed = passes(condition, sample);
    return [i ? " and " : "if ", el("span", { class: isPassed ? "passed" : "failed", title: isPassed ? "holds" : "does not hold" }, condition.text)];
  });
  const predicted = isHeld ? el("span", { class: "predicted" }, `predicts ${figure(valueOf(model, rule, sample))}`) : "";
  const set = model.members.length > 1 ? el("span", {}, `rule set ${member}`) : "";
  return el("li", { class: isHeld ? "card holds" : "card", id: `rule-${number}`, tabindex: -1 },
    el("h3", {}, el("span", {}, `rule ${number}`), set, predicted),
    el("p", {}, ...(conditions.length ? conditions : ["always"])),
    el("p", { class: "then" }, `${model.target} = ${rule.formula}`),
    el("p", { class: "figures" }, el("span", {}, count(rule.cover, "sample")), el("span", {}, `mean ${figure(rule.mean)}`), el("span", {}, `error ${figure(rule.error)}`)),
    isHeld && rule.terms.length ? sumTable(rule) : "");
}

/** Return the sum of a rule for the values, term by term. */
function sumTable(rule) {
  const line = (text, number) => el("tr", {}, el("td", {}, text), right(figure(number)));
  const sum = sumOf(model, rule, sample), value = valueOf(model, rule, sample);
  const lines = rule.terms.map(([feature, coefficient]) => {
    const x = filled(model, sample, feature);
    return line(`${figure(coefficient)} × ${model.features[feature].name}, ${figure(x)}`, coefficient * x);
  });
  const bound = value === sum ? "" : line(value > sum ? "moved to the lower bound" : "moved to the upper bound", value);
  return el("details", {}, el("summary", {}, "The sum"),
    el("table", {}, el("tbody", {}, line("constant", rule.intercept), ...lines, line("sum", sum), bound)));
}

function showRule(number) {
  $("filter").value = "";
  $("member").value = -1;
  $("holding").checked = true;
  most = Infinity;
  showRules();
  $(`rule-${number}`).scrollIntoView({ block: "nearest" });
  $(`rule-${number}`).focus();
}

function buildFilters() {
  const option = (value, text) => el("option", { value }, text);
  $("member").append(option(-1, "All rule sets"), ...model.members.map((rules, i) => option(i, `Rule set ${i}, ${count(rules.length, "rule")}`)));
  $("member").hidden = model.members.length === 1;
  $("sort").append(...Object.keys(ORDERS).map((name) => option(name, name)));
  const again = () => {
    most = MOST;
    showRules();
  };
  for (const id of ["filter", "member", "sort", "holding"]) $(id).addEventListener("input", again);
  $("more").addEventListener("click", () => {
    most += MOST;
    showRules();
  });
}

// ------------------------------------------------------------------------------------------------------------ the prediction

function buildSample() {
  const grid = el("div", { class: "fields" });
  const used = new Set(entries.flatMap(({ rule }) => [...rule.conditions.map(({ tests }) => tests[0].feature), ...rule.terms.map(([feature]) => feature)]));
  for (const feature of [...used].sort((a, b) => a - b)) addField(grid, feature);
  const neighbors = model.hasNeighbors ? note("The model corrects what the rules predict by the nearest samples of the fit. This page has no samples of the fit, and shows what the rules predict.") : "";
  $("sample").append(...[
    el("h2", {}, "Prediction"), neighbors, model.rows ? rowChooser() : "", el("div", { id: "result" }),
    el("h3", {}, "Values"), grid, note("An empty field is a missing value, which counts as the mean or the most frequent category of the fit."),
  ].filter(Boolean));
}

function predictFor(given) {
  sample = given;
  const predicted = predictionOf(model, sample);
  if ($("row")) $("row").value = row;
  const line = el("p", { class: "answer" }, "Predicts ", el("strong", {}, figure(predicted)));
  $("result").replaceChildren(line, truthLine(predicted), memberTable());
  showRules();
  say(line.textContent);
}

function truthLine(predicted) {
  const truth = row >= 0 ? model.rows.truth?.[row] : undefined;
  return note(truth === undefined ? `${model.target}: ${model.members.length > 1 ? "the mean of the rule sets" : "the mean of the rules that hold"}.` : `The data say ${figure(truth)}: off by ${figure(Math.abs(truth - predicted))}.`);
}

/** Return what each rule set predicts, and by which rules. */
function memberTable() {
  const rows = model.members.map((rules, member) => {
    const held = entries.filter((entry) => entry.member === member && holds(entry.rule, sample));
    const links = held.flatMap(({ number }, i) => [i ? ", " : "", button(`rule ${number}`, () => showRule(number), { class: "link" })]);
    return el("tr", {}, el("td", {}, String(member)), el("td", {}, ...(held.length ? links : ["none: the mean of the fit"])), right(figure(memberOf(model, rules, sample))));
  });
  const head = el("tr", {}, el("th", {}, "Rule set"), el("th", {}, "Rules that hold"), right("Predicts", "th"));
  return el("table", { class: "shares" }, el("thead", {}, head), el("tbody", {}, ...rows));
}

// --------------------------------------------------------------------------------------------------------------------- start

function start() {
  $("summary").textContent = `rules with linear models · ${count(entries.length, "rule")} · ${count(model.members.length, "rule set")}`;
  buildFilters();
  buildSample();
  const typical = model.features.map((feature, j) => (feature.categories || model.filling[j] === null ? NaN : model.filling[j]));
  writeFields(typical);
  predictFor(typical);
  $("theme").setAttribute("aria-pressed", isDark());
  $("theme").addEventListener("click", changeTheme);
}

start();

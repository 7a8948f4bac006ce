/* The competing splits of a node: the best split of each feature, how it divides the samples, and its code. */

// ------------------------------------------------------------------------------------------------- splits: other splits here

const splits = new Map(tree.splits.map((entry) => [entry.node, entry.splits]));

/** Return the conditions of the branches of a split, with the name of the feature in the first one only. */
function sideTexts({ feature, codes, cuts, texts }) {
  const { name } = tree.features[feature];
  const brief = inBrief(tree, tree.maxCategories);
  if (codes) return codes.map((each) => (each.length ? setText(brief, categoryNames(tree, feature, each)) : `${name} is missing`));
  if (!cuts.length) return [`${name} is known`, `${name} is missing`];
  return [`≤ ${texts[0]}`, ...texts.slice(1).map((text, i) => `${texts[i]} < … ≤ ${text}`), `> ${texts[texts.length - 1]}`];
}

/** Return the place of a split in a few words. */
function splitText(split) {
  const { name } = tree.features[split.feature];
  if (split.codes) return name;
  return split.cuts.length ? `${name} ≤ ${split.texts.join(", ")}` : `${name} is known`;
}

/** Return a row per branch: its condition, its samples as a bar by class, and their number. */
function divisionTable(split) {
  const n = (side) => (tree.isRegression ? side[0] ?? 0 : countIn(pairsOf(side)));
  const rows = split.sides.map((side, i) => [sideTexts(split)[i], side]);
  if (split.lost.length) rows.push(["missing, or in no branch", split.lost]);
  const most = Math.max(...rows.map(([, side]) => n(side)), 1);
  const body = rows.map(([text, side]) => el("tr", {}, el("td", {}, text), el("td", { class: "meter" }, divisionBar(side, n(side), most)),
    right(separated(n(side))), tree.isRegression ? right(side.length ? meanText(side[1], tree.decimals) : "") : ""));
  const head = el("tr", {}, el("th", {}, "Branch"), el("th", {}), right("Samples", "th"), tree.isRegression ? right("Mean", "th") : "");
  return el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
}

function divisionBar(side, n, most) {
  const { classes, colours } = tree.targets[0];
  const bar = meter();
  let at = 0;
  for (const [key, size] of tree.isRegression ? [[0, n]] : pairsOf(side)) {
    const part = make("rect", { x: `${100 * at / most}%`, width: `${100 * size / most}%`, height: 8, fill: colours[key] });
    part.append(make("title", {}, tree.isRegression ? "" : `${classes[key]}: ${separated(size)}`));
    bar.append(part);
    at += size;
  }
  return bar;
}

function splitDetails(v, split, most) {
  const gain = meter(make("rect", { width: `${100 * Math.max(split.gain, 0) / most}%`, height: 8, rx: 2 }));
  const head = el("summary", {}, el("span", { class: "what" }, splitText(split), split.isOwn ? el("span", { class: "note" }, " (in the tree)") : ""),
    gain, el("span", { class: "right" }, grouped(String(Number(split.gain.toPrecision(4))))));
  const parts = [divisionTable(split)];
  if (split.python && !split.isOwn) {
    const code = el("div", { class: "rule" }, pythonText({ node: v, python: split.python }));
    parts.push(code, buttons(copyButton(COPY.python, code, "Code")));
  }
  return el("details", { class: "split" }, head, ...parts);
}

/** Return the list of the competing splits of a node for its panel. */
function splitsBlock(v) {
  const found = splits.get(v) ?? [];
  if (isLeaf(v) || !found.length) return [];
  const most = Math.max(...found.map((split) => split.gain)) || 1;
  return [
    el("h3", {}, "Competing splits"),
    note("The best split of each feature here, with its gain. Open one to see how it divides the samples."),
    ...found.map((split) => splitDetails(v, split, most)),
    tree.models ? "" : note("The page cannot grow the tree below another split. The code makes the split in Python, and regrow grows the tree from its leaves."),
  ];
}

panelBlocks.push(splitsBlock);

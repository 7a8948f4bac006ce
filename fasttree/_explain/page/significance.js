/* The significance tests of a tree by CHAID: in the boxes, and in the panel with the features that compete and the merges. */

// ------------------------------------------------------------------------------------------------- significance: the boxes

const plainBoxes = { ...boxCharts }; // without the tests

/** Return the lines for a box: p-values that are too long for one have a line each. */
function testLines(v) {
  const fits = (text) => textLength(text, TEXT_FONT) <= MOST_BOX - 2 * PAD;
  return isLeaf(v) ? [] : tree.significance[v].test.flatMap((text) => (fits(text) ? [text] : text.split(", ")));
}

const testsHeight = (v) => testLines(v).length * LINE;

boxCharts.extra = (v) => testsHeight(v) + plainBoxes.extra(v);
boxCharts.room = (v) => Math.max(plainBoxes.room(v), ...testLines(v).map((text) => Math.ceil(textLength(text, TEXT_FONT)) + 2 * PAD));
boxCharts.draw = (v, width) => {
  const group = make("g");
  testLines(v).forEach((text, i) => {
    group.append(make("text", { class: "lesser", x: PAD, y: BOX_HEIGHT + 3 + i * LINE }, text));
  });
  if (plainBoxes.extra(v)) {
    const chart = make("g", { transform: `translate(0 ${testsHeight(v)})` });
    chart.append(plainBoxes.draw(v, width));
    group.append(chart);
  }
  return group;
};

// ------------------------------------------------------------------------------------------------- significance: the panel

/** Return the test of a node, the features that compete there, and how the categories of the best one merged. */
function significanceBlock(v) {
  const { test, reason, rivals, more, merges, moreMerges } = tree.significance[v];
  const said = test.join(", ") || reason;
  if (!said && !rivals.length) return [];
  const left = (n, what) => (n ? note(`and ${count(n, what)} more`) : "");
  const parts = [el("h3", {}, "Significance"), said ? el("p", {}, said) : ""];
  if (rivals.length) {
    const line = (tag, [name, groups, ...cells]) => el("tr", {}, el(tag, { title: groups }, name), ...cells.map((text) => right(text, tag)));
    const head = line("th", [test.length ? "Competing" : "Feature", "", "Statistic (df)", "p", "Adjusted p"]);
    const table = el("table", { class: "tests" }, el("thead", {}, head), el("tbody", {}, ...rivals.map((cells) => line("td", cells))));
    table.style.fontSize = "12px"; // p-values are long
    parts.push(table, left(more, "feature"));
  }
  if (merges.length) {
    parts.push(el("h3", {}, "Merged categories"), el("ol", { class: "steps" }, ...merges.map((text) => el("li", {}, text))), left(moreMerges, "merge"));
  }
  return parts;
}

panelBlocks.push(significanceBlock);

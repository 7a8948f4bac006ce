/* Charts of the samples given: those of a node along the feature that it tests, in the panel and in the boxCharts. */

// -------------------------------------------------------------------------------------------------------- charts: the data

let charted = 0; // index of the target that charts show
let charts, leastTarget, mostTarget; // of this target: charts by node, and the range of its numbers
chartTarget(0);

/** Choose the target that charts show. */
function chartTarget(target) {
  charted = target;
  charts = new Map(chartSet().nodes.map((chart) => [chart.node, chart]));
  [leastTarget, mostTarget] = chartSet().range ?? [0, 1];
}

function chartSet() {
  return tree.charts[charted];
}

const LOST_FROM = 0.9; // share of an axis where the column of missing values begins

/** Return the pairs of each column: class and count, or row of the grid and count. */
function columnPairs(chart) {
  if (chart.count) return chart.count.map(pairsOf);
  const columns = [];
  for (const [cell, n] of pairsOf(chart.cell)) (columns[Math.floor(cell / chartSet().rows)] ??= []).push([cell % chartSet().rows, n]);
  const bars = chart.codes?.length ?? (chart.isKnown ? 2 : barsOf(chart) + (chart.lost ? 1 : 0));
  return Array.from({ length: bars }, (_, i) => columns[i] ?? []);
}

/** Return the number of bars of a numeric feature. */
function barsOf(chart) {
  return chart.edges ? chart.edges.length - 1 : chart.below + chart.above;
}

/** Return the name of a column of categories, or its short form as in branches. */
function nameOfCodes(v, codes, isShort = false) {
  if (codes === 0) return "missing";
  if (Array.isArray(codes)) return `… ${codes.length} more`;
  return categoryNames(isShort ? inBrief(tree, 1) : tree, tree.feature[v], [codes])[0];
}

/** Return the feature along which a node's chart is drawn; undefined in the chart of a leaf along the target. */
function alongOf(v) {
  return isLeaf(v) ? charts.get(v)?.along : tree.feature[v];
}

/** Return the columns of a node's chart: start and stop on an axis from 0 to 1, name, pairs, number of samples, and branch. */
function columnsOf(v) {
  const chart = charts.get(v);
  const pairs = columnPairs(chart);
  const finished = (column, i) => ({ ...column, pairs: pairs[i], n: countIn(pairs[i]) });
  if (chart.codes || chart.isKnown) {
    const names = chart.isKnown ? ["known", "missing"] : chart.codes.map((codes) => nameOfCodes(v, codes));
    const branches = chart.branch ?? [0, 1];
    const gaps = branches.filter((branch, i) => i && branch !== branches[i - 1]).length;
    const gap = gaps * 0.06 > 0.4 ? 0.4 / gaps : 0.06;
    const wide = (1 - gaps * gap) / names.length;
    let at = 0;
    const brief = chart.isKnown ? names : chart.codes.map((codes) => nameOfCodes(v, codes, true));
    return names.map((name, i) => {
      if (i && branches[i] !== branches[i - 1]) at += gap;
      const start = at + i * wide;
      return finished({ start, stop: start + wide, name, brief: brief[i], branch: branches[i] }, i);
    });
  }
  const { edges, whole, place } = axisOf(v);
  const text = (number) => axisNumber(number, edges[1] - edges[0]);
  const columns = edges.slice(1).map((stop, i) => {
    const beyond = i === 0 && chart.isCut?.[0] ? "≤" : i === edges.length - 2 && chart.isCut?.[1] ? ">" : "";
    const name = beyond === "≤" ? `≤ ${text(stop)}` : beyond ? `> ${text(edges[i])}` : `above ${text(edges[i])} to ${text(stop)}`;
    return finished({ start: place(edges[i]), stop: place(stop), name }, i);
  });
  return whole < 1 ? [...columns, finished({ start: 0.94, stop: 1, name: "missing", isLost: true }, columns.length)] : columns;
}

/** Return the edges of the bars of a numeric feature, the share of the axis for them, and the place of a number on it. */
function axisOf(v) {
  const chart = charts.get(v);
  const edges = chart.edges ?? Array.from({ length: barsOf(chart) + 1 }, (_, i) => tree.threshold[v] + (i - chart.below) * chart.step);
  const whole = chart.lost ? LOST_FROM : 1;
  const [low, high] = [edges[0], edges[edges.length - 1]];
  return { edges, whole, place: (x) => Math.min(Math.max((x - low) / (high - low), 0), 1) * whole };
}

/** Return the places and the texts of the thresholds of a node. */
function cutsOf(v) {
  if (tree.kind[v] === THRESHOLD) return [[tree.threshold[v], thresholdText(tree, v)]];
  return (tree.cuts.get(v)?.places ?? []).map((cut, i) => [cut, tree.cuts.get(v).texts[i]]);
}

// ---------------------------------------------------------------------------------------------------- charts: axes and marks

/** Return a group for a column, with a title that counts its samples above the place that senses the pointer. */
function columnGroup(column, place) {
  const { classes } = tree.targets[charted];
  const counts = tree.isRegression ? [] : column.pairs.map(([c, n]) => `${classes[c]}: ${separated(n)}`);
  const group = make("g");
  group.append(make("title", {}, [`${column.name}: ${count(column.n, "sample")}`, ...counts].join("\n")), make("rect", { class: "sense", ...place }));
  return group;
}

/** Return the largest number of samples of a class or cell in a column. */
function densestOf(columns) {
  return Math.max(...columns.flatMap((column) => column.pairs.map(([, n]) => n)), 1);
}

/** Return the marks of columns in a frame: stacked bars of classes, or in regression dots, as large as cells hold samples. */
function columnMarks(v, columns, { x, y, width, height }, isMini = false) {
  const { colours } = tree.targets[charted];
  const even = (charts.get(v).lost ? LOST_FROM : 1) / columns.filter((column) => !column.isLost).length;
  const weigh = (column) => (charts.get(v).edges && !column.isLost ? column.n * even / (column.stop - column.start) : column.n);
  const most = Math.max(...columns.map(weigh), 1);
  const densest = densestOf(columns);
  const row = height / (chartSet().rows ?? 1);
  return columns.map((column) => {
    const left = x + column.start * width, wide = (column.stop - column.start) * width;
    const group = isMini ? make("g") : columnGroup(column, { x: left, y, width: wide, height });
    let up = y + height;
    for (const [key, n] of column.pairs) {
      if (tree.isRegression) {
        const r = Math.max(Math.min(Math.max(row, 3), Math.max(wide, 3)) * 0.62 * Math.sqrt(n / densest), isMini ? 0.8 : 1.6);
        group.append(make("circle", { cx: (left + wide / 2).toFixed(1), cy: (y + height - (key + 0.5) * row).toFixed(1), r: r.toFixed(2), fill: colours[0] }));
        continue;
      }
      const tall = height * n / column.n * weigh(column) / most;
      up -= tall;
      group.append(make("rect", { x: left.toFixed(2), y: up.toFixed(2), width: Math.max(wide - 0.6, 0.4).toFixed(2), height: tall.toFixed(2), fill: colours[key] }));
    }
    return group;
  });
}

/** Return a line at the mean of each branch or category. */
function meanMarks(v, columns, { x, y, width, height }) {
  const { mean, codes, isKnown } = charts.get(v);
  if (!mean) return [];
  const bounds = codes || isKnown ? columns.map(({ start, stop }) => [start, stop]) : branchBounds(v);
  return mean.flatMap((each, i) => (each === null || !bounds[i] ? [] : [make("path", {
    class: "mean", d: `M${(x + bounds[i][0] * width).toFixed(1)} ${(y + height * (1 - upOf(each))).toFixed(1)}H${(x + bounds[i][1] * width).toFixed(1)}`,
  })]));
}

function branchBounds(v) {
  const { whole, place } = axisOf(v);
  const places = [0, ...cutsOf(v).map(([cut]) => place(cut)), whole];
  return places.slice(1).map((stop, i) => [places[i], stop]);
}

function upOf(target) {
  return mostTarget > leastTarget ? Math.min(Math.max((target - leastTarget) / (mostTarget - leastTarget), 0), 1) : 0.5;
}

// ---------------------------------------------------------------------------------------------------- charts: in the panel

const PLOT = { x: 46, y: 30, width: 274, height: 110 };

/** Return an axis on the left, with its name above it. */
function leftAxis(low, high, name) {
  const { x, y, width, height } = PLOT;
  const at = (tick) => y + height * (1 - (tick - low) / (high - low));
  const ticks = roundTicks(low, high, 4).map(([tick, text]) => [at(tick), text]);
  return [
    make("path", { class: "axis", d: `M${x} ${y}V${y + height}H${x + width}${ticks.map(([up]) => `M${x - 4} ${up.toFixed(1)}h4`).join("")}` }),
    ...ticks.map(([up, text]) => label(x - 6, up + 4, text, "end")),
    label(0, 10, clip(name, PLOT.x + PLOT.width, "11px"), "start"),
  ];
}

/** Return the ticks and the name of an axis below; `place` is that of a number from 0 to 1. */
function belowAxis(low, high, name, place) {
  const { x, y, width, height } = PLOT;
  return [
    ...ticksBelow(roundTicks(low, high, 5).map(([tick, text]) => [x + place(tick) * width, text]), y + height),
    label(x + width / 2, y + height + 32, clip(name, width, "11px")),
  ];
}

/** Return marks at some places below an axis at height y, and their texts. */
function ticksBelow(ticks, y) {
  return [
    make("path", { class: "axis", d: ticks.map(([x]) => `M${x.toFixed(1)} ${y}v4`).join("") }),
    ...ticks.map(([x, text]) => label(x, y + 16, text)),
  ];
}

const MOST_LINES_OF_CUTS = 12;

/** Return dashed lines at the thresholds, with their numbers above where there is room; of many, short lines. */
function cutMarks(places, { x, y, width, height }, hasText) {
  if (places.length > MOST_LINES_OF_CUTS) {
    return [make("path", { class: "mean", d: places.map(([at]) => `M${(x + at * width).toFixed(1)} ${y - 5}v5`).join("") })];
  }
  let taken = -Infinity;
  return places.flatMap(([at, text]) => {
    const spot = x + at * width;
    const line = make("path", { class: "cut", d: `M${spot.toFixed(1)} ${y - 3}V${y + height}` });
    const half = textLength(text, "600 11px") / 2;
    const middle = Math.min(Math.max(spot, x + half - 20), x + width - half);
    if (!hasText || middle - half < taken + 4) return [line];
    taken = middle + half;
    return [line, label(middle, y - 6, text, "middle", "cut-text")];
  });
}

/** Draw the samples along a number that the node tests. */
function valuesChart(v, columns) {
  const { x, y, width, height } = PLOT;
  const { edges, place, whole } = axisOf(v);
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const most = Math.max(...columns.map((column) => column.n), 1);
  const along = alongOf(v), { name } = tree.features[along];
  const parts = tree.isRegression ? leftAxis(leastTarget, mostTarget, headingOf(tree, charted) || "target") : leftAxis(0, most, "samples");
  const isUneven = charts.get(v).edges && cutsOf(v).length <= MOST_LINES_OF_CUTS;
  if (isUneven && !tree.isRegression) parts.splice(1); // the area of a bar is its number of samples, not its height
  const [lower, upper] = tree.soft.get(v) ?? [0, 0];
  if (lower < upper) parts.unshift(make("rect", { class: "band", x: x + place(lower) * width, y, width: (place(upper) - place(lower)) * width, height }));
  parts.push(...belowAxis(low, high, name, place), ...columnMarks(v, columns, PLOT), ...meanMarks(v, columns, PLOT));
  parts.push(...cutMarks(cutsOf(v).map(([cut, text]) => [place(cut), text]), PLOT, true));
  if (whole < 1) parts.push(label(x + 0.97 * width, y + height + 16, "∅"));
  if (isLeaf(v)) parts.push(...lineMarks(v, PLOT));
  const value = state.visits.has(v) ? state.sample[along] : undefined;
  if (value !== undefined) {
    const spot = x + (Number.isNaN(value) ? 0.97 : place(value)) * width;
    if (!Number.isNaN(value) || whole < 1) parts.push(make("path", { class: "followed", d: `M${spot.toFixed(1)} ${y + height}l-5 8h10z` }));
  }
  return [parts, y + height + 38];
}

/** Draw the targets of the samples of a leaf. */
function targetsChart(v) {
  const { x, y, width, height } = PLOT;
  const cells = pairsOf(charts.get(v).cell);
  const most = Math.max(...cells.map(([, n]) => n));
  const { rows } = chartSet();
  const text = (row) => axisNumber(leastTarget + row / rows * (mostTarget - leastTarget), (mostTarget - leastTarget) / rows);
  const bars = cells.map(([row, n]) => {
    const bar = make("rect", { x: x + row / rows * width, y: y + height * (1 - n / most), width: width / rows - 0.6, height: height * n / most, fill: tree.targets[charted].colours[0] });
    bar.append(make("title", {}, `${text(row)} to ${text(row + 1)}: ${count(n, "sample")}`));
    return bar;
  });
  const mean = sharesOf(tree, v)[charted];
  const below = belowAxis(leastTarget, mostTarget, headingOf(tree, charted) || "target", upOf);
  return [[...leftAxis(0, most, "samples"), ...below, ...bars, ...cutMarks([[upOf(mean), `mean ${meanText(mean, tree.decimals)}`]], PLOT, true)], y + height + 38];
}

const ROW = 18, NAMES = 128, BARS_END = 280;

/** Draw a row per category, by branch. */
function categoriesChart(v, columns) {
  const { colours } = tree.targets[charted];
  const most = Math.max(...columns.map((column) => column.n), 1);
  const densest = densestOf(columns);
  const end = tree.isRegression ? PLOT.x + PLOT.width : BARS_END;
  const across = (share) => NAMES + share * (end - NAMES);
  const { rows } = chartSet();
  const value = state.visits.has(v) ? nameOfCodes(v, state.sample[tree.feature[v]] || 0) : null;
  const parts = [];
  let y = 2;
  columns.forEach((column, i) => {
    if (!i || column.branch !== columns[i - 1].branch) {
      const head = branchHead(v, column);
      if (head) [parts.push(label(0, y + 12, clip(head, end, "11px"), "start")), y += 17];
      else if (i && tree.kind[v] !== CATEGORY) y += 8;
    }
    const group = columnGroup(column, { x: 0, y, width: 328, height: ROW });
    group.append(label(NAMES - 8, y + 13, clip(column.brief, NAMES - 10, "600 11px"), "end", column.name === value ? "cut-text" : "named"));
    let share = 0;
    for (const [key, n] of column.pairs) {
      if (tree.isRegression) {
        group.append(make("circle", { cx: across((key + 0.5) / rows).toFixed(1), cy: y + ROW / 2, r: Math.max(5 * Math.sqrt(n / densest), 1).toFixed(2), fill: colours[0] }));
        continue;
      }
      group.append(make("rect", { x: across(share).toFixed(2), y: y + 2, width: Math.max((end - NAMES) * n / most - 0.3, 0.3).toFixed(2), height: ROW - 4, fill: colours[key] }));
      share += n / most;
    }
    const mean = charts.get(v).mean?.[i];
    if (typeof mean === "number") group.append(make("path", { class: "mean", d: `M${across(upOf(mean)).toFixed(1)} ${y + 1}v${ROW - 2}` }));
    if (!tree.isRegression) group.append(label(across(share) + 5, y + 13, separated(column.n), "start"));
    parts.push(group);
    y += ROW;
  });
  if (tree.isRegression) [parts.push(...rowAxis(y + 3, across)), y += 38];
  return [parts, y + 4];
}

/** Return the axis of the target below rows of categories. */
function rowAxis(y, across) {
  return [
    make("path", { class: "axis", d: `M${across(0)} ${y}H${across(1)}` }),
    ...ticksBelow(roundTicks(leastTarget, mostTarget, 4).map(([tick, text]) => [across(upOf(tick)), text]), y),
    label((across(0) + across(1)) / 2, y + 31, clip(headingOf(tree, charted) || "target", across(1) - across(0), "11px")),
  ];
}

/** Return the heading of the categories of a branch; a node with a branch per category has none. */
function branchHead(v, { branch, name }) {
  if (tree.kind[v] === CATEGORY || charts.get(v).isKnown || name === "missing") return "";
  return branch < 0 ? "in no branch" : `to node ${tree.firstChild[v] + branch}`;
}

/** Return the list from which the reader chooses the target of the charts, if there are several. */
function targetChoice() {
  if (tree.charts.length < 2) return [];
  const choice = el("select", { "aria-label": "Target of the charts", change: () => {
    chartTarget(Number(choice.value));
    showNode();
    for (const node of drawn.nodes.values()) node.looks = ""; // drawn again
    redraw();
    $("panel-node").querySelector("select").focus();
  } }, ...tree.charts.map((_, i) => el("option", { value: i }, headingOf(tree, i))));
  choice.value = charted;
  return [choice];
}

/** Return the chart of a node for its panel, with a note on the samples. */
function chartBlock(v) {
  const leaf = isLeaf(v);
  if (leaf && (!tree.isRegression || tree.branches[v])) return [];
  const along = alongOf(v);
  const about = along === undefined ? headingOf(tree, charted) || "target" : tree.features[along].name;
  const head = el("div", { class: "chart-head" }, el("h3", {}, "Samples given"), ...targetChoice());
  const chart = charts.get(v);
  if (!chart) {
    const least = chartSet().nodes[chartSet().nodes.length - 1].node;
    const isLight = tree.weight[v] <= tree.weight[least];
    return [head, note(isLight ? `Charts are in this page for the ${chartSet().nodes.length} heaviest nodes.` : "None of the samples given has a chart here.")];
  }
  const columns = along === undefined ? [] : columnsOf(v);
  const [parts, height] = along === undefined ? targetsChart(v) : chart.codes || chart.isKnown ? categoriesChart(v, columns) : valuesChart(v, columns);
  const n = along === undefined ? countIn(pairsOf(chart.cell)) : columns.reduce((sum, column) => sum + column.n, 0);
  const words = `${separated(n)} of the ${separated(chartSet().of)} samples given`;
  const drawing = make("svg", { class: "chart data", viewBox: `0 0 328 ${height}`, role: "img", "aria-label": `Samples of node ${v} by ${about}: ${words}` });
  drawing.append(...parts);
  return [head, drawing, note(`${words}.${chartWords(v, chart, columns)}`)];
}

function chartWords(v, chart, columns) {
  const words = [];
  if (chart.isCut) words.push(" The outer bars include values beyond the axis, which holds the middle 98 %.");
  if (chart.lost) words.push(" ∅: missing.");
  if (softText(tree, v)) words.push(" Shaded: values near the threshold, which follow both branches.");
  if (chart.mean) words.push(" Lines: means; larger dots: more samples.");
  if (chart.along !== undefined) words.push(lineWords(v));
  if (columns.some((column) => column.name.startsWith("… "))) words.push(" Rare categories share a row.");
  return words.join("");
}

// ----------------------------------------------------------------------------------------------------- charts: in the boxes

const MINI = 42;

/** Return the marks of a small chart in a box. */
function miniChart(v, width) {
  const frame = { x: PAD, y: BOX_HEIGHT - 6, width: width - 2 * PAD, height: MINI - 8 };
  const group = make("g", { class: "mini" });
  const bottom = frame.y + frame.height;
  if (alongOf(v) === undefined) {
    const cells = pairsOf(charts.get(v).cell), most = Math.max(...cells.map(([, n]) => n)), wide = frame.width / chartSet().rows;
    const bar = ([row, n]) => make("rect", { x: frame.x + row * wide, y: bottom - frame.height * n / most, width: wide - 0.5, height: frame.height * n / most, fill: tree.targets[charted].colours[0] });
    group.append(...cells.map(bar));
  } else {
    const columns = columnsOf(v);
    group.append(...columnMarks(v, columns, frame, true), ...(isLeaf(v) ? lineMarks(v, frame) : meanMarks(v, columns, frame)));
    if (columns[0].branch === undefined) {
      const { place } = axisOf(v);
      group.append(...cutMarks(cutsOf(v).map(([cut, text]) => [place(cut), text]), frame, false));
    }
  }
  group.append(make("path", { class: "axis", d: `M${frame.x} ${bottom}h${frame.width}` }));
  return group;
}

panelBlocks.push(chartBlock);
boxCharts.extra = (v) => (boxCharts.isOn && charts.has(v) && !(isLeaf(v) && (tree.branches[v] || !tree.isRegression)) ? MINI : 0);
boxCharts.draw = miniChart;

boxButton("Charts in the boxes", "M3 13.5V8M7 13.5V3M11 13.5V6M14 13.5H2", boxCharts);

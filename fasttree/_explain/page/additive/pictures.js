/* Pictures of terms: the shape of a number as steps, of categories as rows, and a pair of features as a map. */

const model = JSON.parse($("data").textContent);
/** The term and the class that are shown, whether the reader chose the class, and the values. */
const chosen = { term: 0, output: 0, isAsked: false, sample: null, isOneScale: false };

const FRAME = { x: 62, y: 20, width: 520, height: 300 }, PICTURE = { width: 640, height: 362 };
const BAND = 2; // standard deviations over the bags on each side
const LOW_PART = 0.15; // of the height, for the bars of the samples
const MOST_CATEGORIES = 40;

const signed = (number) => `${number < 0 ? "" : "+"}${grouped(number.toFixed(model.decimals))}`;
const withBand = (score, deviation) => `${signed(score)} ± ${grouped(deviation.toFixed(model.decimals))}`;
const isPair = (term) => term.axes.length > 1;

/** Return the scores to draw: one, or those of all classes. */
const outputs = () => model.intercept.map((_, k) => k);

/** Return the bins of a term of categories that are drawn: the heaviest, in their order, and missing values last. */
function shownBins(term) {
  const known = term.weight.map((_, bin) => bin).slice(1).sort((a, b) => term.weight[b] - term.weight[a] || a - b);
  return [...known.slice(0, MOST_CATEGORIES).sort((a, b) => a - b), ...(term.weight[0] > 0 ? [0] : [])];
}

/** Return the bins of a term that count in the range of its scores. */
function drawnBins(term) {
  if (!term.axes[0].cuts) return shownBins(term);
  return Array.from({ length: term.axes[0].bins }, (_, bin) => bin).slice(term.lost > 0 ? 0 : 1);
}

/** Return the range of the scores with their bands, and 0, of a term or of all. */
function rangeOf(terms) {
  let low = 0, high = 0;
  for (const term of terms) {
    for (const bin of drawnBins(term)) {
      for (const k of outputs()) {
        low = Math.min(low, term.scores[k][bin] - BAND * term.deviations[k][bin]);
        high = Math.max(high, term.scores[k][bin] + BAND * term.deviations[k][bin]);
      }
    }
  }
  const room = 0.06 * (high - low) || 1;
  return [low - room, high + room];
}

function scaleOf(term) {
  return rangeOf(chosen.isOneScale ? model.terms.filter((each) => !isPair(each)) : [term]);
}

function nameOf(feature, bin) {
  return bin ? model.features[feature].categories[bin - 1] : "missing";
}

function shortName(feature, bin) {
  const { brief } = model.features[feature];
  return bin && brief ? brief[bin - 1] : nameOf(feature, bin);
}

/** Return the values in a bin as text. */
function binText(axis, bin) {
  if (!axis.cuts || !bin) return nameOf(axis.feature, bin);
  const text = (cut) => grouped(String(Number(cut.toPrecision(6))));
  const { length } = axis.cuts;
  if (!length) return "any value";
  if (bin === 1) return `≤ ${text(axis.cuts[0])}`;
  return bin > length ? `> ${text(axis.cuts[length - 1])}` : `${text(axis.cuts[bin - 2])} to ${text(axis.cuts[bin - 1])}`;
}

/** Return an axis of numbers, with its name in the middle. */
function axisBelow([low, high], name, at, y, [start, stop]) {
  const ticks = roundTicks(low, high, 7);
  return [
    make("path", { class: "axis", d: `M${start} ${y}H${stop}${ticks.map(([tick]) => `M${at(tick).toFixed(1)} ${y}v4`).join("")}` }),
    ...ticks.map(([tick, text]) => label(at(tick), y + 17, text)),
    label((start + stop) / 2, y + 36, clip(name, stop - start, "12px")),
  ];
}

function axisLeft([low, high], at) {
  const { x, y, height } = FRAME;
  const ticks = roundTicks(low, high, 6);
  return [
    make("path", { class: "axis", d: `M${x} ${y}V${y + height}${ticks.map(([tick]) => `M${x - 4} ${at(tick).toFixed(1)}h4`).join("")}` }),
    ...ticks.map(([tick, text]) => label(x - 7, at(tick) + 4, text, "end")),
  ];
}

/** Return the score and its band of a bin as a dot with a whisker. */
function whisker(x, [low, middle, high], colour, isLevel = false) {
  const d = isLevel ? `M${low.toFixed(1)} ${x}H${high.toFixed(1)}` : `M${x} ${low.toFixed(1)}V${high.toFixed(1)}`;
  const spot = isLevel ? { cx: middle.toFixed(1), cy: x } : { cx: x, cy: middle.toFixed(1) };
  return [make("path", { class: "whisker", d, stroke: colour }), make("circle", { ...spot, r: 4, fill: colour })];
}

/** Draw the shape of a number: steps with bands over bars of the samples; `choose` gets the value at a click, `tell` a text. */
function stepsPicture(term, choose, tell) {
  const [axis] = term.axes;
  const { x, y, width, height } = FRAME, bottom = y + height;
  const range = scaleOf(term), edges = [axis.low, ...axis.cuts, axis.high];
  const across = (value) => x + width * Math.min(Math.max((value - axis.low) / (axis.high - axis.low), 0), 1);
  const up = (score) => bottom - height * (score - range[0]) / (range[1] - range[0]);
  const parts = [...axisLeft(range, up), ...axisBelow([axis.low, axis.high], model.features[axis.feature].name, across, bottom, [x, x + width])];
  const most = Math.max(...term.density, 1e-300), wide = width / term.density.length;
  parts.push(...term.density.map((weight, i) => make("rect", {
    class: "samples", x: (x + i * wide).toFixed(1), width: wide.toFixed(1), y: (bottom - LOW_PART * height * weight / most).toFixed(1), height: (LOW_PART * height * weight / most).toFixed(1),
  })));
  parts.push(make("path", { class: "zero", d: `M${x} ${up(0).toFixed(1)}h${width}` }));
  for (const k of outputs()) {
    const colour = model.colours[k];
    const level = (bin, times) => up(term.scores[k][bin] + times * BAND * term.deviations[k][bin]).toFixed(1);
    const stairs = (times) => edges.slice(1).map((stop, i) => `${across(edges[i]).toFixed(1)} ${level(i + 1, times)}L${across(stop).toFixed(1)} ${level(i + 1, times)}`);
    const back = edges.slice(1).map((stop, i) => `${across(stop).toFixed(1)} ${level(i + 1, -1)}L${across(edges[i]).toFixed(1)} ${level(i + 1, -1)}`).reverse();
    parts.push(make("path", { class: "area", d: `M${[...stairs(1), ...back].join("L")}z`, fill: colour, "fill-opacity": 0.2 }));
    parts.push(make("path", { class: "step", d: `M${stairs(0).join("L")}`, stroke: colour }));
    if (term.lost > 0) parts.push(...whisker(x + width + 24, [level(0, -1), level(0, 0), level(0, 1)].map(Number), colour));
  }
  if (term.lost > 0) parts.push(label(x + width + 24, bottom + 17, "missing"));
  parts.push(...mark(term, (bin, value) => [bin ? across(value) : x + width + 24, (k) => up(term.scores[k][bin])], [y, bottom]));
  const hit = make("rect", { class: "hit", x, y, width: width + (term.lost > 0 ? 50 : 0), height });
  const valueAt = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(hit.getScreenCTM().inverse());
    return point.x > x + width ? NaN : axis.low + (axis.high - axis.low) * (point.x - x) / width;
  };
  hit.addEventListener("pointermove", (event) => tell(cellText(term, [binOf(axis, valueAt(event))])));
  hit.addEventListener("pointerleave", () => tell(""));
  hit.addEventListener("click", (event) => choose(axis.feature, Number(valueAt(event).toPrecision(4))));
  return [[...parts, hit], PICTURE.height];
}

/** Return a line and a dot at the value that is chosen, if there is one. */
function mark(term, placeOf, [top, bottom]) {
  const value = chosen.sample[term.axes[0].feature];
  const bin = binOf(term.axes[0], value);
  if (!bin && !(term.lost > 0)) return [];
  const [x, at] = placeOf(bin, value);
  const spots = outputs().map((k) => make("circle", { class: "spot", cx: x.toFixed(1), cy: at(k).toFixed(1), r: 4.5, stroke: model.colours[k] }));
  return [make("path", { class: "here", d: `M${x.toFixed(1)} ${top}V${bottom}` }), ...spots];
}

/** Return what a place of a term adds, as text. */
function cellText(term, bins) {
  const cell = term.axes.reduce((place, axis, i) => place * axis.bins + bins[i], 0);
  const where = term.axes.map((axis, i) => `${model.features[axis.feature].name} ${binText(axis, bins[i])}`).join(", ");
  const each = outputs().map((k) => `${model.link === "softmax" ? `${model.classes[k]} ` : ""}${withBand(term.scores[k][cell], term.deviations[k][cell])}`);
  return `${where}: ${each.join(", ")}`;
}

const ROW = 24, NAMES = 170;

/** Draw a row per category: the score with its band over a bar of the samples. */
function rowsPicture(term, choose, tell) {
  const [axis] = term.axes;
  const shown = shownBins(term), range = scaleOf(term);
  const bottom = shown.length * ROW + 8, stop = PICTURE.width - 16;
  const across = (score) => NAMES + (stop - NAMES) * (score - range[0]) / (range[1] - range[0]);
  const most = Math.max(...term.weight, 1e-300);
  const own = binOf(axis, chosen.sample[axis.feature]);
  const rows = shown.map((bin, i) => {
    const row = make("g", { class: "row" }), y = i * ROW + ROW / 2 + 4;
    const name = make("text", { class: "named", x: NAMES - 10, y: y + 4, "text-anchor": "end", "font-weight": bin === own ? 700 : 400 }, clip(shortName(axis.feature, bin), NAMES - 14, "12px"));
    row.append(make("title", {}, `${nameOf(axis.feature, bin)}: ${separated(term.weight[bin])} in weight`),
      make("rect", { class: "hit", x: 0, y: y - ROW / 2, width: PICTURE.width, height: ROW }),
      make("rect", { class: "samples", x: NAMES, y: y + 5, width: ((stop - NAMES) * term.weight[bin] / most).toFixed(1), height: 4 }), name);
    const span = outputs().length > 1 ? 4 : 0;
    for (const k of outputs()) {
      const [score, band] = [term.scores[k][bin], BAND * term.deviations[k][bin]];
      row.append(...whisker(y - span + 2 * span * k / Math.max(outputs().length - 1, 1), [across(score - band), across(score), across(score + band)], model.colours[k], true));
    }
    row.addEventListener("pointermove", () => tell(cellText(term, [bin])));
    row.addEventListener("pointerleave", () => tell(""));
    row.addEventListener("click", () => choose(axis.feature, bin || NaN));
    return row;
  });
  const zero = make("path", { class: "zero", d: `M${across(0).toFixed(1)} 0V${bottom}` });
  return [[...rows, zero, ...axisBelow(range, scoreName(), across, bottom, [NAMES, stop])], bottom + 46];
}

/** Return the size of the score that a map draws in full colour. */
function largestOf(term, k) {
  return Math.max(...term.scores[k].map(Math.abs)) || 1;
}

/** Draw a pair as a map, blue where it adds and red where it takes away; of several classes, for the class that is shown. */
function mapPicture(term, choose, tell) {
  const [first, second] = term.axes;
  const k = chosen.output, { x, y, width, height } = FRAME;
  const size = largestOf(term, k);
  const sides = [first, second].map((axis) => {
    const n = axis.bins - 1;
    if (!axis.cuts) return Array.from({ length: n + 1 }, (_, i) => i / n);
    const edges = [axis.low, ...axis.cuts, axis.high];
    return edges.map((edge) => (edge - axis.low) / (axis.high - axis.low));
  });
  const parts = [label(0, 10, clip(model.features[second.feature].name, x + width, "12px"), "start")];
  for (let i = 1; i < first.bins; i++) {
    for (let j = 1; j < second.bins; j++) {
      const score = term.scores[k][i * second.bins + j];
      const [left, right, low, high] = [sides[0][i - 1], sides[0][i], sides[1][j - 1], sides[1][j]];
      const cell = make("rect", {
        class: score < 0 ? "down" : "up", "fill-opacity": (Math.abs(score) / size).toFixed(3),
        x: (x + width * left).toFixed(2), y: (y + height * (1 - high)).toFixed(2), width: (width * (right - left)).toFixed(2), height: (height * (high - low)).toFixed(2),
      });
      cell.addEventListener("pointermove", () => tell(cellText(term, [i, j])));
      cell.addEventListener("pointerleave", () => tell(""));
      cell.addEventListener("click", () => [[first, i], [second, j]].forEach(([axis, bin]) => choose(axis.feature, valueIn(axis, bin))));
      parts.push(cell);
    }
  }
  const at = (axis, i) => (value) => (i ? y + height * (1 - (value - axis.low) / (axis.high - axis.low)) : x + width * (value - axis.low) / (axis.high - axis.low));
  if (first.cuts) parts.push(...axisBelow([first.low, first.high], model.features[first.feature].name, at(first, 0), y + height, [x, x + width]));
  else parts.push(...namesAlong(first, (middle) => [x + width * middle, y + height + 17], "middle", width / (first.bins - 1)), label(x + width / 2, y + height + 36, model.features[first.feature].name));
  if (second.cuts) parts.push(...axisLeft([second.low, second.high], at(second, 1)));
  else parts.push(...namesAlong(second, (middle) => [x - 7, y + height * (1 - middle) + 4], "end", x - 10));
  const bins = term.axes.map((axis) => binOf(axis, chosen.sample[axis.feature]));
  if (bins.every(Boolean)) {
    const [cx, cy] = bins.map((bin, i) => {
      const axis = term.axes[i], value = chosen.sample[axis.feature];
      const share = axis.cuts ? Math.min(Math.max((value - axis.low) / (axis.high - axis.low), 0), 1) : (bin - 0.5) / (axis.bins - 1);
      return i ? y + height * (1 - share) : x + width * share;
    });
    parts.push(make("circle", { class: "spot", cx: cx.toFixed(1), cy: cy.toFixed(1), r: 5, stroke: "var(--ink)" }));
  }
  return [parts, PICTURE.height];
}

/** Return the names of the categories along a side of a map, as long as there is room. */
function namesAlong(axis, place, anchor, room) {
  return Array.from({ length: axis.bins - 1 }, (_, i) => {
    const [left, top] = place((i + 0.5) / (axis.bins - 1));
    return label(left, top, clip(shortName(axis.feature, i + 1), room, "12px"), anchor);
  });
}

/** Return a number in a bin, with few digits; of categories their code. */
function valueIn(axis, bin) {
  if (!bin || !axis.cuts) return bin || NaN;
  return axis.cuts.length ? roundBetween(axis.cuts[bin - 2] ?? -Infinity, axis.cuts[bin - 1] ?? Infinity) : 0;
}

function scoreName() {
  if (model.link === "identity") return `added to ${model.target}`;
  return model.link === "logit" ? `added to the log odds of ${model.classes[1]}` : "added to the score";
}

function pictureOf(term, choose, tell) {
  const draw = isPair(term) ? mapPicture : term.axes[0].cuts ? stepsPicture : rowsPicture;
  const [parts, height] = draw(term, choose, tell);
  const picture = make("svg", { class: "large", viewBox: `0 0 ${PICTURE.width} ${height}`, role: "img", "aria-label": `Shape of ${term.name}` });
  picture.append(...parts);
  return picture;
}

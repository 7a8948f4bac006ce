/* Values that the reader enters, or takes from a row of the data: `predictFor` of the page is called with each sample. */

const fields = new Map(); // the control of each feature that has one
let row = -1; // index of the chosen sample among those of the page; -1 for none

/** Add the control of a feature to a grid; `more` are options of a list of categories. */
function addField(grid, feature, ...more) {
  const { name, categories } = model.features[feature];
  const options = categories?.map((category, i) => el("option", { value: i + 1 }, category));
  const control = categories ? el("select", {}, el("option", { value: "" }, "(missing)"), ...options, ...more) : el("input", { type: "number", step: "any", placeholder: "missing" });
  control.id = `field-${feature}`;
  control.addEventListener("input", () => {
    row = -1;
    predictFor(readFields());
  });
  fields.set(feature, control);
  grid.append(el("label", { for: control.id }, name), control);
}

function rowChooser() {
  const { rows } = model;
  const options = rows.row.map((number, i) => el("option", { value: i }, `row ${number}${rows.truth ? `: ${rows.truth[i]}` : ""}`));
  const some = rows.row.length < rows.of ? ` (${rows.row.length} of ${separated(rows.of)})` : "";
  const chooser = el("select", { id: "row", "aria-label": "Row of the data" }, el("option", { value: -1 }, `row …${some}`), ...options);
  chooser.addEventListener("change", () => chooseRow(Number(chooser.value)));
  const turn = (by) => () => chooseRow((row + by + rows.row.length + Number(row < 0 && by < 0)) % rows.row.length);
  return el("div", { class: "stepper" }, button("‹", turn(-1), { "aria-label": "Row before" }), chooser, button("›", turn(1), { "aria-label": "Next row" }));
}

function readFields() {
  const sample = model.features.map(() => NaN);
  for (const [feature, control] of fields) sample[feature] = control.value === "" ? NaN : Number(control.value); // "other": NaN
  return sample;
}

function writeFields(sample) {
  for (const [feature, control] of fields) control.value = Number.isNaN(sample[feature]) ? "" : sample[feature];
}

/** Predict for a sample of the page; numbers of single precision are shown in their shortest form, but counted as float32. */
function chooseRow(i) {
  row = i;
  if (row < 0) return predictFor(readFields());
  const { feature, cell, single } = model.rows;
  const shown = model.features.map(() => NaN), sample = shown.slice();
  feature.forEach((j, c) => {
    const number = cell[c][row];
    const isMissing = number === null || (model.features[j].categories && number === 0);
    shown[j] = isMissing ? NaN : number;
    sample[j] = !isMissing && single[c] ? Math.fround(number) : shown[j];
  });
  writeFields(shown);
  return predictFor(sample);
}

/* Texts of the page: tests, rules and figures.  Nothing here touches the document. */

// ------------------------------------------------------------------------------------------------------------------- words

// If the whole weight is tiny, decimals do not distinguish weights.
function weightFigure(tree, weight) {
  return tree.weighsLittle ? String(Number(weight.toPrecision(tree.decimals + 1))) : fixed(weight, tree.decimals);
}

/** Write a set, or if `isNot` what it excludes; in the drawing "all others", as the branch beside it names them. */
function setText(tree, names, isNot = false) {
  const most = tree.maxCategories;
  const shown = names.length <= most + 1 ? names.join(", ") : `${names.slice(0, most).join(", ")}, … ${names.length - most} more`;
  if (tree.isBrief) return isNot ? "all others" : shown;
  if (names.length === 1) return `${isNot ? "!=" : "="} ${names[0]}`;
  return `${isNot ? "not " : ""}in {${shown}}`;
}

/** Return whether a set of categories is described better by those that it excludes. */
function isShorter(excluded, included) {
  return included > 2 && 2 * included > 3 * excluded;
}

/** Return the codes that a branch excludes if they are its shorter description, and all other categories follow it; else none. */
function othersOf(tree, v, b) {
  const sizes = childrenOf(tree, v).map((_, branch) => codesTo(tree.table.get(v), branch).length);
  const all = tree.features[tree.feature[v]].categories.length;
  const known = sizes.reduce((sum, size) => sum + size, 0);
  const holdsAll = known === all || (b === tree.missing[v] && !tree.surrogates.size);
  if (sizes.indexOf(Math.max(...sizes)) !== b || !holdsAll || known === sizes[b] || !isShorter(known - sizes[b], sizes[b])) return [];
  return [...tree.table.get(v)].filter(([, to]) => to !== b).map(([code]) => code);
}

/** Return the names of categories, or their short forms in a tree made by `inBrief`. */
function categoryNames(tree, feature, codes) {
  const { categories, brief } = tree.features[feature];
  const isShort = tree.isBrief && brief && !(tree.spellsOne && codes.length === 1);
  return codes.map((code) => (isShort ? brief : categories)[code - 1]);
}

/** Return the tree for texts with short names and at most this many categories in a set; `spellsOne`: one category has its full name. */
function inBrief(tree, maxCategories, spellsOne = false) {
  return Object.assign(Object.create(tree), { isBrief: true, maxCategories, spellsOne });
}

/** Return the text of a threshold or cut; for an ordinal feature, the last category below it. */
function placeText(tree, feature, number, text) {
  return tree.features[feature].ordinal ? tree.features[feature].categories[Math.floor(number) - 1] : text;
}

/** Return the text of the threshold of a node. */
function thresholdText(tree, v) {
  return placeText(tree, tree.feature[v], tree.threshold[v], tree.text.get(v));
}

/** Return the codes that a test by table sends to a branch. */
function codesTo(table, branch) {
  return [...table].filter(([, to]) => to === branch).map(([code]) => code);
}

/** Return the condition of a branch, with `name` for the feature. */
function branchText(tree, v, b, name = "") {
  const feature = tree.feature[v];
  const lead = name ? `${name} ` : "";
  switch (tree.kind[v]) {
    case KNOWN: return `${lead}is ${b ? "missing" : "known"}`;
    case THRESHOLD: {
      if (b === 2) return `${lead}is missing`;
      const place = thresholdText(tree, v);
      return `${lead}${b ? ">" : "≤"} ${place}${b ? "" : softText(tree, v)}`;
    }
    case INTERVALS: {
      const { places, texts } = tree.cuts.get(v);
      const at = (i) => placeText(tree, feature, places[i], texts[i]);
      if (b === 0) return `${lead}≤ ${at(0)}`;
      return b === places.length ? `${lead}> ${at(b - 1)}` : `${at(b - 1)} < ${name || "x"} ≤ ${at(b)}`;
    }
    case CATEGORY: {
      const categories = tree.features[feature].categories;
      if (b >= categories.length) return `${lead}is missing`;
      const group = tree.groups.get(tree.firstChild[v] + b) ?? [tree.firstChild[v] + b];
      return lead + setText(tree, categoryNames(tree, feature, group.map((child) => child - tree.firstChild[v] + 1)));
    }
    default: {
      const names = categoryNames(tree, feature, codesTo(tree.table.get(v), b));
      const others = othersOf(tree, v, b);
      if (others.length) return lead + setText(tree, categoryNames(tree, feature, others), true);
      return names.length || b !== tree.missing[v] ? lead + setText(tree, names) : `${lead}is missing`;
    }
  }
}

function softText(tree, v) {
  const [lower, upper] = tree.soft.get(v) ?? [0, 0];
  if (!(lower < upper) || tree.features[tree.feature[v]].ordinal) return "";
  const decimals = Math.min(Math.max(1 - Math.floor(Math.log10(upper - lower)), 0), 9);
  return ` [${fixed(lower, decimals)}, ${fixed(upper, decimals)}]`;
}

function branchOf(tree, v) {
  return v - tree.firstChild[tree.parent[v]];
}

/** Return the condition of the branch from the parent to a node. */
function conditionText(tree, v) {
  const parent = tree.parent[v];
  return parent < 0 ? "all samples" : branchText(tree, parent, branchOf(tree, v), tree.features[tree.feature[parent]].name);
}

/** Return whether missing values follow this branch although another one is heavier, which a reader would not expect. */
function takesMissing(tree, v) {
  const parent = tree.parent[v];
  if (parent < 0 || tree.missing[parent] !== branchOf(tree, v) || conditionText(tree, v).endsWith(" is missing")) return false;
  return childrenOf(tree, parent).some((child) => tree.weight[child] > tree.weight[v]);
}

/** Write where a missing value of the tested feature goes, as a sentence. */
function missingText(tree, v) {
  const surrogates = tree.surrogates.has(v) ? "If no surrogate decides either, a sample" : "A sample without a value";
  const branch = tree.missing[v];
  if (branch === STOP) return `${surrogates} stops here and gets this node's answer.`;
  if (branch === SHARES) {
    const weights = childrenOf(tree, v).map((child) => weightFigure(tree, tree.weight[child]));
    return `${surrogates} goes down every branch in part, as ${weights.join(" : ")}.`;
  }
  return `${surrogates} takes the branch “${branchText(tree, v, branch, tree.features[tree.feature[v]].name)}”.`;
}

function surrogateText(tree, surrogate, branch) {
  const { feature, kind } = surrogate;
  const name = tree.features[feature].name;
  if (kind === NOMINAL) return `${name} ${setText(tree, categoryNames(tree, feature, codesTo(surrogate.table, branch)))}`;
  return `${name} ${surrogate.low === branch ? "≤" : ">"} ${placeText(tree, feature, surrogate.threshold, surrogate.text)}`;
}

/** Return the text of the prediction for each target. */
function answerTexts(tree, shares) {
  if (tree.isRegression) return Array.from(shares, (mean) => meanText(mean, tree.decimals));
  return answersTo(tree, shares).map((c, target) => tree.targets[target].classes[c]);
}

/** Return the name of a target; of several unnamed ones, its number. */
function headingOf(tree, target) {
  return tree.targets[target].name || (tree.columns.length > 1 ? `Target ${target + 1}` : "");
}

function weightText(tree, v) {
  return weightFigure(tree, tree.weight[v]);
}

/** Write the weight of the predicted class in a node: "49 of 54"; in regression, only the weight of the node. */
function supportText(tree, v) {
  if (tree.isRegression || tree.columns.length > 1) return weightText(tree, v);
  const value = tree.value.slice(v * tree.k, (v + 1) * tree.k);
  const share = value[bestClass(tree, value)];
  const whole = value.reduce((sum, weight) => sum + weight, 0);
  return tree.weight[v] === 0 || share === whole ? weightText(tree, v) : `${weightFigure(tree, share)} of ${weightText(tree, v)}`;
}

/** Return the prediction of a node for the drawing; means have the same decimals throughout. */
function drawnAnswer(tree, v) {
  const shares = sharesOf(tree, v);
  if (!tree.isRegression) return answerTexts(tree, shares).join(" | ");
  return Array.from(shares, (mean, target) => grouped(mean.toFixed(Math.min(tree.meanDecimals[target], 9)))).join(" | ");
}

/** Return the figures of a node for the drawing: "76 % yes · 32,561" at a test, "98 % of 1,250" in a leaf. */
function drawnFigures(tree, v, leaf) {
  const weight = grouped(weightText(tree, v));
  if (leaf && tree.weight[v] === 0) return "no samples";
  if (tree.isRegression || tree.columns.length > 1 || tree.weight[v] === 0) {
    const unit = tree.isRegression ? (tree.weight === tree.samples ? " samples" : " in weight") : "";
    return leaf ? `${tree.models ? `mean ${drawnAnswer(tree, v)} · ` : ""}${weight}${unit}` : `${drawnAnswer(tree, v)} · ${weight}${unit}`;
  }
  const shares = sharesOf(tree, v);
  const share = percent(shares[answersTo(tree, shares)[0]]);
  return leaf ? `${share} of ${weight}` : `${share} ${drawnAnswer(tree, v)} · ${weight}`;
}

// ------------------------------------------------------------------------------------------------------------------- rules

/** Return what the path to a node requires of each feature: an interval or codes, and whether a missing value passes ("yes", "part", "no", "only"). */
function requirements(tree, v) {
  const found = new Map();
  for (const node of pathTo(tree, v).slice(1)) {
    const parent = tree.parent[node], feature = tree.feature[parent];
    if (!found.has(feature)) {
      const codes = tree.features[feature].categories?.map((_, i) => i + 1);
      found.set(feature, { low: -Infinity, high: Infinity, lowText: "", highText: "", codes, all: codes?.length, missing: "yes" });
    }
    narrow(tree, parent, branchOf(tree, node), found.get(feature));
  }
  return found;
}

function narrow(tree, v, b, need) {
  if (branchText(tree, v, b) === "is missing") {
    need.missing = "only";
    return;
  }
  if (tree.missing[v] !== b) need.missing = tree.missing[v] === SHARES && need.missing !== "no" ? "part" : "no";
  if (tree.kind[v] === KNOWN) return;
  const ends = endsOf(tree, v, b);
  if (need.codes) {
    const groups = tree.groups.get(tree.firstChild[v] + b) ?? [tree.firstChild[v] + b];
    const goesThere = (code) => groups.includes(tree.firstChild[v] + knownBranch(tree, v, code));
    need.codes = need.codes.filter(ends ? (code) => code > ends.low && code <= ends.high : goesThere);
    return;
  }
  if (ends.low > need.low) [need.low, need.lowText] = [ends.low, ends.lowText];
  if (ends.high < need.high) [need.high, need.highText] = [ends.high, ends.highText];
}

/** Return the interval of a branch of a threshold or of cuts; null for tests by category. */
function endsOf(tree, v, b) {
  if (tree.kind[v] !== THRESHOLD && tree.kind[v] !== INTERVALS) return null;
  const { places, texts } = tree.cuts.get(v) ?? { places: [tree.threshold[v]], texts: [tree.text.get(v)] };
  return { low: places[b - 1] ?? -Infinity, high: places[b] ?? Infinity, lowText: texts[b - 1] ?? "", highText: texts[b] ?? "" };
}

/** Return the conditions of the path to a node, one per feature. */
function ruleConditions(tree, v) {
  return Array.from(requirements(tree, v), ([feature, need]) => {
    const { name } = tree.features[feature];
    if (need.missing === "only") return `${name} is missing`;
    const missing = { yes: " or missing", part: " or, in part, missing", no: "" }[need.missing];
    if (need.codes?.length < need.all) return `${name} ${codesText(tree, feature, need.codes)}${missing}`;
    if (need.lowText && need.highText) return `${need.lowText} < ${name} <= ${need.highText}${missing}`;
    if (need.lowText) return `${name} > ${need.lowText}${missing}`;
    if (need.highText) return `${name} <= ${need.highText}${missing}`;
    return missing ? "" : `${name} is known`;
  }).filter(Boolean);
}

/** Write all categories of a set, or those that it excludes if they are fewer. */
function codesText(tree, feature, codes) {
  const excluded = tree.features[feature].categories.map((_, i) => i + 1).filter((code) => !codes.includes(code));
  const isNot = isShorter(excluded.length, codes.length);
  return setText({ maxCategories: Infinity }, categoryNames(tree, feature, isNot ? excluded : codes), isNot);
}

function ruleText(tree, v) {
  const conditions = ruleConditions(tree, v);
  const answer = tree.models?.text[v] ?? answerTexts(tree, sharesOf(tree, v)).join(" | ");
  return `${conditions.length ? `if ${conditions.join("\nand ")}\nthen` : "always"} ${answer} (${supportText(tree, v)})`;
}

/** Return a sample that reaches a node, with as few digits as possible; features that the path does not test are missing. */
function sampleFor(tree, v) {
  const sample = tree.features.map(() => NaN);
  for (const [feature, need] of requirements(tree, v)) {
    if (need.missing !== "only") sample[feature] = need.codes ? need.codes[0] ?? NaN : roundBetween(need.low, need.high);
  }
  return sample;
}


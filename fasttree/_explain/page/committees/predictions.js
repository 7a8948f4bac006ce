/* Rules with linear models: which hold, and what they predict.  Nothing here touches the document. */

/** Return whether a value passes a test; categories are codes from 1, and NaN is missing. */
function passesTest(test, sample) {
  const x = sample[test.feature];
  if (Number.isNaN(x)) return test.missing;
  if (test.codes) return test.codes.includes(x);
  return "most" in test ? x <= test.most : x > test.above;
}

const passes = (condition, sample) => condition.tests.every((test) => passesTest(test, sample));
const holds = (rule, sample) => rule.conditions.every((condition) => passes(condition, sample));

/** Return the value that a term takes for a feature. */
function filled(model, sample, feature) {
  return Number.isNaN(sample[feature]) ? model.filling[feature] : sample[feature];
}

/** Return the sum of a rule before its bounds; the terms are added in order. */
function sumOf(model, rule, sample) {
  return rule.terms.reduce((sum, [feature, coefficient]) => sum + coefficient * filled(model, sample, feature), rule.intercept);
}

function valueOf(model, rule, sample) {
  return Math.min(Math.max(sumOf(model, rule, sample), rule.lower), rule.upper);
}

/** Return what a rule set predicts: the mean of its rules that hold, or that of the fit. */
function memberOf(model, member, sample) {
  const held = member.filter((rule) => holds(rule, sample));
  if (!held.length) return model.default;
  return held.reduce((sum, rule) => sum + valueOf(model, rule, sample), 0) / held.length;
}

function predictionOf(model, sample) {
  return model.members.reduce((sum, member) => sum + memberOf(model, member, sample), 0) / model.members.length;
}

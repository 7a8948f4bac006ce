/* An additive model: bins, scores and predictions.  Nothing here touches the document. */

/** Return the bin of a value: 0 if it is missing or was not seen; categories are codes from 1. */
function binOf(axis, x) {
  if (Number.isNaN(x)) return 0;
  if (!axis.cuts) return x;
  let low = 0, high = axis.cuts.length; // the number of cuts below x
  while (low < high) {
    const middle = (low + high) >> 1;
    if (axis.cuts[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}

/** Return the place of a sample in the table of a term. */
function cellOf(term, sample) {
  return term.axes.reduce((cell, axis) => cell * axis.bins + binOf(axis, sample[axis.feature]), 0);
}

/** Return the scores of a sample, added in the order of the terms. */
function scoresOf(model, sample) {
  const cells = model.terms.map((term) => cellOf(term, sample));
  return model.intercept.map((intercept, k) => model.terms.reduce((sum, term, i) => sum + term.scores[k][cells[i]], intercept));
}

/** Return the probabilities of all classes. */
function probabilitiesOf(model, scores) {
  if (model.link === "logit") {
    const size = Math.exp(-Math.abs(scores[0]));
    const shares = [size / (1 + size), 1 / (1 + size)];
    return scores[0] >= 0 ? shares : shares.reverse();
  }
  const most = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - most));
  const whole = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / whole);
}

/** Return the index of the predicted class. */
function classOf(model, scores) {
  return model.link === "logit" ? Number(scores[0] > 0) : scores.indexOf(Math.max(...scores));
}

/** Return what each term adds to a score, the largest first. */
function contributionsOf(model, sample, k) {
  const parts = model.terms.map((term) => {
    const cell = cellOf(term, sample);
    return { term, score: term.scores[k][cell], deviation: term.deviations[k][cell] };
  });
  return parts.sort((a, b) => Math.abs(b.score) - Math.abs(a.score));
}

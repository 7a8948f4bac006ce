"use strict";
/* Texts of numbers.  Nothing here touches the document. */

/** Write a number with at most this many decimals, without trailing zeros. */
function fixed(number, decimals) {
  if (Math.abs(number) >= 1e15) return number.toPrecision(6);
  const text = number.toFixed(decimals);
  if (Number(text) === 0) return number ? number.toPrecision(1) : "0";
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Like `fixed`, but with significant digits below 1, because targets may be tiny. */
function meanText(number, decimals) {
  if (Math.abs(number) >= 1 || number === 0) return fixed(number, decimals);
  return String(Number(number.toPrecision(Math.max(decimals, 1))));
}

/** Write a share in percent; only a share of exactly 1 reads as 100 %, and only 0 as 0 %. */
function percent(share) {
  if ((share > 0 && share < 0.001) || (share > 0.999 && share < 1)) return share < 0.5 ? "<0.1 %" : ">99.9 %";
  return `${fixed(100 * share, share < 0.01 || share > 0.99 ? 1 : 0)} %`;
}

function count(number, one, many = `${one}s`) {
  return `${separated(number)} ${number === 1 ? one : many}`;
}

/** Write a number with separators of thousands; `toLocaleString` takes long at its first call. */
function separated(number) {
  return grouped(String(number));
}

/** Put separators of thousands into the text of a number. */
function grouped(text) {
  const [whole, ...rest] = text.split(".");
  return /^-?\d+$/.test(whole) ? [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".") : text;
}

/** Return the number with the fewest digits in (low, high], near the middle. */
function roundBetween(low, high) {
  if (low === -Infinity && high === Infinity) return 0;
  const from = low === -Infinity ? high - Math.abs(high) / 5 : low;
  const middle = high === Infinity ? low + (Math.abs(low) / 10 || 1) : from + (high - from) / 2;
  for (let digits = 1; digits < 17; digits++) {
    const round = Number(middle.toPrecision(digits));
    if (round > low && round <= high) return round;
  }
  return high === Infinity ? middle : high;
}

/** Return about `most` round numbers in an interval, each with its text. */
function roundTicks(low, high, most) {
  if (!(high > low)) return [];
  const size = 10 ** Math.floor(Math.log10((high - low) / most));
  const step = [1, 2, 5, 10].map((times) => times * size).find((each) => (high - low) / each <= most) ?? 10 * size;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push([i * step, axisNumber(i * step, step)]);
  return ticks;
}

/** Write a number of an axis with as many decimals as its step needs. */
function axisNumber(number, step) {
  if (Math.abs(number) >= 1e6 || (number && Math.abs(step) < 1e-4)) return String(Number(number.toPrecision(4)));
  const decimals = Math.max(0, Math.ceil(-Math.log10(Math.abs(step) || 1) - 1e-9) + (String(Number(step.toPrecision(2))).endsWith("5") ? 1 : 0));
  return separated(Number(number.toFixed(Math.min(decimals, 8))));
}

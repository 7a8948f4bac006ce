/* Elements of a page, and its colours.  Texts are set through textContent, so that names are never parsed as markup. */

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes = {}, text = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  return element;
}

function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== false && value !== null) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}

function note(...parts) {
  return el("p", { class: "note" }, ...parts);
}

const buttons = (...each) => el("div", { class: "buttons" }, ...each);

function terms(pairs) {
  return pairs.flatMap(([term, text]) => [el("dt", {}, term), el("dd", {}, text)]);
}

/** Return a cell of a table of figures. */
function right(text, tag = "td") {
  return el(tag, { class: "right" }, text);
}

function button(text, act, attributes = {}) {
  return el("button", { click: act, ...attributes }, text);
}

function swatch(colour) {
  const element = el("span", { class: "swatch", "aria-hidden": "true" });
  element.style.setProperty("--colour", colour);
  return element;
}

/** Return a drawing that only shows what is written beside it. */
function meter(...parts) {
  const drawing = make("svg", { "aria-hidden": true });
  drawing.append(...parts);
  return drawing;
}

async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // without permission, as in a frame: copy a selection
    const range = document.createRange();
    range.selectNodeContents(shown);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
}

function label(x, y, text, anchor = "middle", kind = "") {
  return make("text", { x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor, class: kind }, text);
}

function say(text) {
  $("live").textContent = text;
}

const pen = document.createElement("canvas").getContext("2d");
const sans = getComputedStyle(document.documentElement).fontFamily;
const lengths = new Map();

function textLength(text, font) {
  const key = font + text;
  if (!lengths.has(key)) {
    pen.font = `${font} ${sans}`;
    lengths.set(key, pen.measureText(text).width);
  }
  return lengths.get(key);
}

/** Shorten a text to a length, with an ellipsis in its middle, as similar names often differ at their ends. */
function clip(text, most, font) {
  if (textLength(text, font) <= most) return text;
  const without = (kept) => {
    const after = Math.floor(2 * kept / 5);
    return `${text.slice(0, kept - after).trimEnd()}…${text.slice(text.length - after).trimStart()}`;
  };
  let fits = 1;
  for (let step = 1 << 10; step; step >>= 1) {
    if (fits + step < text.length && textLength(without(fits + step), font) <= most) fits += step;
  }
  return without(fits);
}

function isDark() {
  const { classList } = document.documentElement;
  return classList.contains("dark") || (!classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
}

function changeTheme() {
  const dark = !isDark();
  document.documentElement.classList.toggle("dark", dark);
  document.documentElement.classList.toggle("light", !dark);
  $("theme").setAttribute("aria-pressed", dark);
}

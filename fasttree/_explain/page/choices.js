/* What was chosen on the page, as Python code, as JSON, and in the address of the page. */

// ------------------------------------------------------------------------------------------------------- choices: as Python

/** Return the folded nodes that the user folded; those within a folded branch and pruned ones are not counted. */
function foldedByHand() {
  return [...state.folded].filter((v) => sheet.place.has(v) && !isLeaf(v) && !state.open.has(v));
}

/** Return the ids that the nodes of the page have in the pruned tree, -1 for those that it lacks. */
function prunedIds() {
  const ids = new Int32Array(tree.n).fill(-1);
  for (let v = 0, next = 0; v < tree.n; v++) {
    if (!v || (ids[tree.parent[v]] >= 0 && !isLeaf(tree.parent[v]))) ids[v] = next++;
  }
  return ids;
}

/** Return the code that makes the chosen subtree from the model, with a split in place of a node's; "" for the whole tree. */
function pythonText(split = null) {
  const { alpha, leaves, risk } = subtrees;
  const lines = [];
  if (state.step) {
    const options = `alpha=${alpha[state.step]}${risk === "impurity" ? "" : `, risk="${risk}"`}`;
    lines.push("from fasttree.pruning import CostComplexity", "");
    lines.push(`model = model.prune(CostComplexity(${options}))  # ${leavesText(leaves[state.step])}`);
  }
  // nodes below a collapsed one have larger ids, so the ids of those that follow here remain
  const ids = prunedIds();
  const folded = foldedByHand().filter((v) => !split || !pathTo(tree, v).includes(split.node));
  const edits = folded.map((v) => [ids[v], `model = model.collapse(${ids[v]})`]);
  if (split) edits.push([ids[split.node], `model = model.split(${ids[split.node]}, ${split.python}, X=X, y=y)`]);
  return [...lines, ...edits.sort(([a], [b]) => b - a).map(([, line]) => line)].join("\n");
}

/** Return the edits that make the chosen subtree, as JSON for `apply_edits`; "" for the whole tree. */
function editsText() {
  const ids = prunedIds(), folded = new Set(foldedByHand());
  // from the last node to the first, so that the ids of those that follow remain
  const edits = [...folded].map((v) => ({ edit: "collapse", node: ids[v] })).sort((a, b) => b.node - a.node);
  if (state.step) edits.unshift({ edit: "prune", alpha: subtrees.alpha[state.step], risk: subtrees.risk });
  if (!edits.length) return "";
  let leaves = 0;
  for (const waiting = [0]; waiting.length;) {
    const v = waiting.pop();
    if (isLeaf(v) || folded.has(v)) leaves++;
    else waiting.push(...childrenOf(tree, v));
  }
  return JSON.stringify({ format: "fasttree.edits", version: 1, nodes: tree.n, leaves, edits });
}

/** Return a button that copies the text of an element. */
function copyButton(text, shown, what, attributes = {}) {
  const copy = button(text, async () => {
    const done = await copyText(shown.textContent, shown);
    copy.textContent = done ? "Copied" : "Select and copy by hand";
    say(done ? `${what} copied` : "The browser refused to copy");
  }, attributes);
  return copy;
}

const COPY = { python: "Copy as Python", edits: "Copy as JSON" };

function buildPython() {
  const code = el("div", { class: "rule", id: "python", hidden: true });
  const copy = copyButton(COPY.python, code, "Code", { id: "copy-python", disabled: true });
  const edits = el("div", { class: "rule", id: "edits", hidden: true });
  const copyEdits = copyButton(COPY.edits, edits, "JSON", { id: "copy-edits", disabled: true });
  return el("div", {}, el("h3", {}, "In Python"),
    note("The subtree as code, or as JSON for model.apply_edits. A node that you fold becomes a leaf."), code, edits,
    buttons(copy, copyEdits));
}

function showPython() {
  if (!$("python")) return;
  const texts = { python: pythonText(), edits: editsText() };
  if (texts.python === $("python").textContent) return;
  for (const [id, text] of Object.entries(texts)) {
    $(id).textContent = text;
    $(id).hidden = !text;
    $(`copy-${id}`).disabled = !text;
    $(`copy-${id}`).textContent = COPY[id];
  }
}

// ------------------------------------------------------------------------------------------------- choices: in the address

/** Return the address of the tree, the selected node and the chosen subtree: "#tree=7&node=4&leaves=11"; "" for the root of the first tree. */
function linkText() {
  const parts = [];
  if (tree.numbers && tree.number !== tree.numbers[0]) parts.push(`tree=${tree.number}`);
  if (state.selected) parts.push(`node=${state.selected}`);
  if (state.step) parts.push(`leaves=${subtrees.leaves[state.step]}`);
  return parts.length ? `#${parts.join("&")}` : "";
}

let linkTimer = 0, lastLink = location.hash; // the last address followed or written

/** Write the link into the address, not into the history; later, because browsers limit how often an address may change. */
function updateLink() {
  clearTimeout(linkTimer);
  linkTimer = setTimeout(() => {
    if (location.hash !== lastLink) return; // it was changed just now, and will be followed
    try {
      history.replaceState(history.state, "", linkText() || location.pathname + location.search);
      lastLink = location.hash;
    } catch {
      // a frame without an address of its own has no links
    }
  }, 150);
}

/** Show the subtree and select the node of the address.  What the tree does not have is ignored. */
function followLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  const other = Number(link.get("tree") ?? tree.numbers?.[0]);
  if (tree.numbers?.includes(other) && other !== tree.number) {
    location.reload();
    return;
  }
  lastLink = location.hash;
  const number = (name) => (/^\d+$/.test(link.get(name) ?? "") ? Number(link.get(name)) : -1);
  const step = Math.max(subtrees.leaves.indexOf(number("leaves")), 0);
  if (step !== state.step) prune(step);
  const node = number("node");
  if (node < tree.n) goTo(remainsAt(Math.max(node, 0)), { focus: false });
}

/** Return a node, or the leaf of the pruned tree above it. */
function remainsAt(v) {
  return pathTo(tree, v).find((above) => above === v || isLeaf(above));
}

// ------------------------------------------------------------------------------------------- choices: the tree of a forest

/** Build the list of trees.  The page of another tree is this page with its number in the address, loaded anew. */
function buildTrees() {
  const list = el("select", { id: "which", "aria-label": "Tree of the forest" });
  for (const number of tree.numbers) list.append(el("option", { value: String(number) }, `Tree ${number}`));
  list.value = String(tree.number);
  list.addEventListener("change", () => {
    history.replaceState(history.state, "", `#tree=${list.value}`);
    location.reload();
  });
  $("search").before(list);
}

if (tree.numbers) buildTrees();

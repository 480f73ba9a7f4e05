// The forest of label dependence: roots on the left, one line per leaf, strongest edges first.

import { element, shape } from "./dom.js";
import { general, signed } from "./format.js";
import { fitted } from "./measure.js";
import { format } from "./route.js";

const LINE = 22;
const GAP = 8;
const SPREAD = 46;
const LONGEST = 170;
// Forests with more labels or generations than this are an outline: one line per label, each a step to the right of
// its parent.
const OUTLINE = 24;
const GENERATIONS = 4;
const STEP = 30;

function children(parents, strength) {
  const lists = parents.map(() => []);
  parents.forEach((parent, label) => { if (parent >= 0) lists[parent].push(label); });
  for (const list of lists) list.sort((a, b) => Math.abs(strength[b] ?? 0) - Math.abs(strength[a] ?? 0));
  return lists;
}

/** The labels that have an edge, parents before children, with their depth; no recursion, as chains may be long. */
function preorder(parents, below) {
  const order = [];
  for (const root of parents.keys()) {
    if (parents[root] >= 0 || !below[root].length) continue;
    const stack = [[root, 0]];
    while (stack.length) {
      const [label, depth] = stack.pop();
      order.push({ label, depth });
      for (const child of [...below[label]].reverse()) stack.push([child, depth + 1]);
    }
  }
  return order;
}

/** Place the labels: `{depth, y}` by label. In a small forest leaves have lines and parents are amid their children. */
export function layout(parents, strength) {
  const below = children(parents, strength);
  const order = preorder(parents, below);
  const isOutline = order.length > OUTLINE || order.some(({ depth }) => depth >= GENERATIONS);
  const place = new Map();
  let y = LINE / 2;
  for (const { label, depth } of order) {
    if (depth === 0 && place.size) y += GAP;
    const hasLine = isOutline || !below[label].length;
    place.set(label, { depth, y: hasLine ? y : null });
    if (hasLine) y += LINE;
  }
  for (const { label } of order.reverse()) {
    if (isOutline || !below[label].length) continue;
    const [first, last] = [below[label][0], below[label].at(-1)].map((child) => place.get(child).y);
    place.get(label).y = (first + last) / 2;
  }
  return { place, height: y, isOutline };
}

/** Where each column begins: after the longest name of the one before. */
function columnStarts(place, texts) {
  const widths = [];
  for (const [label, { depth }] of place) widths[depth] = Math.max(widths[depth] ?? 0, texts.get(label).width);
  const starts = [8];
  widths.forEach((width, depth) => starts.push(starts[depth] + width + SPREAD));
  return starts;
}

// What an edge says of its two labels: whether one makes the other more or less likely.
const SIGNS = { more: "more likely together", less: "less likely together", unknown: "more or less likely: unknown" };

function sign(coupling) {
  if (coupling === null) return "unknown";
  return coupling < 0 ? "less" : "more";
}

/** The sign of a coupling and its size, in words. */
export function effect(coupling) {
  return coupling === null ? SIGNS.unknown : `${SIGNS[sign(coupling)]} (${signed(coupling)})`;
}

/** What the lines of a drawing mean; lines of unknown sign are there only if the forest has some. */
export function legend({ parents, coupling }) {
  const hasUnknown = parents.some((parent, label) => parent >= 0 && coupling[label] === null);
  const keys = Object.entries(SIGNS).filter(([name]) => name !== "unknown" || hasUnknown);
  return element("ul", { class: "legend forest-legend" }, keys.map(([name, text]) => element("li", {},
    shape("svg", { class: "swatch", viewBox: "0 0 34 10", "aria-hidden": "true" }, shape("line", { class: `edge ${name}`, "stroke-width": 3, x1: 0, x2: 34, y1: 5, y2: 5 })),
    text)));
}

/** The widths of edges go with their strength, if it is known; colour and dashes go with the sign of the coupling. */
function strokes({ strength, coupling }) {
  const widest = Math.max(...strength.map((value) => Math.abs(value ?? 0))) || 1;
  return (label) => ({
    "stroke-width": strength[label] === null ? 1.5 : (1.5 + 4.5 * (Math.abs(strength[label]) / widest)).toFixed(2),
    class: `edge ${sign(coupling[label])}`,
  });
}

function curve(from, to) {
  const bend = Math.min(32, (to.x - from.x) / 2);
  return `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
}

/** An edge from a parent's name to its child, or in an outline from below the parent. */
function edge(parent, child, isOutline, stroke, text) {
  const title = shape("title", {}, text);
  if (!isOutline) return [shape("path", { ...stroke, d: curve({ x: parent.end, y: parent.y }, { x: child.x - 5, y: child.y }) }, title)];
  return [
    shape("path", { class: "stem", d: `M${parent.x} ${parent.y + 5}V${child.y}` }),
    shape("path", { ...stroke, d: `M${parent.x} ${child.y}H${child.x - 5}` }, title),
  ];
}

function node({ x, y, text }, name, label, isRoot) {
  return shape(
    "a", { href: format({ view: "labels", id: label }), "data-label": label }, shape("title", {}, name),
    shape("circle", { cx: x, cy: y, r: 3.5, class: isRoot ? "node root" : "node" }), shape("text", { x: x + 8, y: y + 4 }, text),
  );
}

/** The drawing, or null if no label has an edge. */
export function drawForest(names, forest) {
  const { title, measure, parents, strength, coupling } = forest;
  const { place, height, isOutline } = layout(parents, strength);
  if (!place.size) return null;
  const texts = new Map([...place.keys()].map((label) => [label, fitted(names[label], LONGEST)]));
  const starts = columnStarts(place, texts);
  const points = new Map([...place].map(([label, { depth, y }]) => {
    const x = isOutline ? 8 + depth * STEP : starts[depth];
    const { text, width } = texts.get(label);
    return [label, { x, y, text, end: x + width + 13 }];
  }));
  const stroke = strokes(forest);
  const edges = [...points].filter(([label]) => parents[label] >= 0).flatMap(([label, point]) => {
    const parent = parents[label];
    const text = `${names[parent]} – ${names[label]}: ${effect(coupling[label])}; ${measure} ${general(strength[label])}`;
    return edge(points.get(parent), point, isOutline, stroke(label), text);
  });
  const nodes = [...points].map(([label, point]) => node(point, names[label], label, parents[label] < 0));
  const width = Math.max(...[...points.values()].map(({ end }) => end));
  return shape("svg", {
    class: "forest", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title,
    // A drawing that is a little too wide is made a little smaller; one that is far too wide is scrolled.
    style: { width: `min(100%, ${width}px)`, "min-width": `${(isOutline ? 1 : 0.75) * width}px` },
  }, edges, nodes);
}

/** Labels without any edge, as links. */
export function isolated(names, { parents, strength }) {
  const below = children(parents, strength);
  const alone = parents.map((_, label) => label).filter((label) => parents[label] < 0 && !below[label].length);
  if (!alone.length) return null;
  const links = alone.flatMap((label, index) => [index ? ", " : "", element("a", { href: format({ view: "labels", id: label }) }, names[label])]);
  return element("p", { class: "note" }, `Without an edge (${alone.length}): `, links);
}

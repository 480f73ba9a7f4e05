// Labels in a line: by colour and by sign, right, wrong or missed.

import { element } from "./dom.js";

const KINDS = {
  right: { sign: "✓", meaning: "predicted and true" },
  wrong: { sign: "✕", meaning: "predicted, not true" },
  missed: { sign: "○", meaning: "true, not predicted" },
};

export function chip(name, kind = null) {
  if (kind === null) return element("span", { class: "chip" }, name);
  const { sign, meaning } = KINDS[kind];
  return element(
    "span",
    { class: `chip ${kind}`, title: `${name}: ${meaning}` },
    element("span", { class: "sign", role: "img", "aria-label": kind }, sign),
    name,
  );
}

/** The labels of a set beside the truth, if that is known; `missed: false` leaves out what the set lacks. */
export function chips(names, labels, truth, { missed = true } = {}) {
  if (truth === null) return labels.length ? labels.map((label) => chip(names[label])) : [empty()];
  const predicted = new Set(labels);
  const known = new Set(truth);
  const shown = labels.map((label) => chip(names[label], known.has(label) ? "right" : "wrong"));
  if (!labels.length) shown.push(empty());
  if (missed) shown.push(...truth.filter((label) => !predicted.has(label)).map((label) => chip(names[label], "missed")));
  return shown;
}

// Sets with more labels than this are shown by how they differ from another.
const LARGE = 6;

/** A set by what it has and lacks beside the most probable one, `reference`, if that is shorter than all of its labels. */
export function chipsBeside(names, labels, reference, truth, options) {
  const [own, other] = [new Set(labels), new Set(reference)];
  const added = labels.filter((label) => !other.has(label));
  const left = reference.filter((label) => !own.has(label));
  const changes = added.length + left.length;
  if (labels.length <= LARGE || changes > labels.length / 2) return chips(names, labels, truth, options);
  const muted = (text) => element("span", { class: "muted" }, text);
  const change = (label, sign) => element("span", { class: "chip change" }, element("span", { class: "sign" }, sign), names[label]);
  return [
    muted(changes ? "that set" : "the most probable set"),
    added.length ? [muted("with"), added.map((label) => change(label, "+"))] : null,
    left.length ? [muted("without"), left.map((label) => change(label, "−"))] : null,
  ];
}

export function empty() {
  return element("span", { class: "no-labels" }, "no labels");
}

export function sameSet(first, second) {
  const members = new Set(second);
  return first.length === second.length && first.every((label) => members.has(label));
}

export function legend(hasTruth) {
  if (!hasTruth) return null;
  return element(
    "ul",
    { class: "legend", "aria-label": "Legend" },
    Object.entries(KINDS).map(([kind, { sign, meaning }]) =>
      element("li", {}, element("span", { class: `chip ${kind}`, "aria-hidden": "true" }, sign), ` ${meaning}`),
    ),
  );
}

/** A horizontal bar for a share between 0 and 1. */
export function bar(share, properties = {}) {
  const width = `${100 * Math.min(1, Math.max(0, share ?? 0))}%`;
  return element("span", { class: "meter", "aria-hidden": "true", ...properties },
    element("span", { class: "filled", style: { width } }));
}

/** A horizontal bar for a share between -1 and 1, to the left or right of the middle. */
export function diverging(share) {
  const side = share < 0 ? "right" : "left";
  return element("span", { class: "meter diverging", "aria-hidden": "true" },
    element("span", { class: share < 0 ? "filled negative" : "filled", style: { width: `${50 * Math.abs(share)}%`, [side]: "50%" } }));
}

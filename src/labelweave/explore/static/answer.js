// The parts of an answer about one row that are beside its marginals: sets, certificate, decision, features.

import { bar, chips, chipsBeside, diverging, sameSet } from "./chips.js";
import { button, choice, element, fill, scrollable } from "./dom.js";
import { general, integer, probability, signed, smallProbability, times } from "./format.js";

/** “Proven most probable”, or how far from it the set found may be. */
function certificate({ p, optimal, bound }) {
  if (optimal) return element("span", { class: "proven" }, "✓ proven most probable");
  const text = p > 0 ? `the best set may be up to ${times(bound / p)} times as probable` : "not known to be the most probable";
  return element("span", { class: "unproven" }, `≈ ${text}`);
}

export function mode(names, answer) {
  const { mode: found, truth } = answer;
  return element(
    "div",
    { id: "mode", "data-p": found.p, "data-optimal": String(found.optimal), "data-labels": found.labels.join() },
    element("p", { class: "set" }, chips(names, found.labels, truth)),
    element("p", { class: "line" }, "probability ", element("strong", { title: String(found.p) }, smallProbability(found.p)), certificate(found)),
  );
}

export function topSets(names, { top, truth, mode: found }) {
  const scale = Math.max(...top.map(({ p }) => p), found.p) || 1;
  return element(
    "ol",
    { id: "top-sets", class: "sets" },
    top.map(({ labels, p }) => element(
      "li",
      { "data-p": p, "data-labels": labels.join() },
      element("span", { class: "p", title: String(p) }, smallProbability(p)),
      bar(p / scale),
      element(
        "span", { class: "set" }, chipsBeside(names, labels, found.labels, truth, { missed: false }),
        truth && sameSet(labels, truth) ? element("span", { class: "badge" }, "the truth") : null,
      ),
    )),
  );
}

/** The switch of decisions with the labels chosen and the score to expect. */
export function decision(summary, answer, onChoose) {
  const { name, labels, expected } = answer.decision;
  const { measure } = summary.decisions.find((each) => each.name === name);
  return [
    choice("Decision", summary.decisions.map((each) => [each.name, each.title]), name, onChoose, { id: "decisions" }),
    element("p", { class: "set" }, chipsBeside(summary.labels, labels, answer.mode.labels, answer.truth)),
    element(
      "p", { class: "line", id: "decision-expected", "data-p": expected, "data-labels": labels.join() },
      `${measure} `, element("strong", { title: String(expected) }, smallProbability(expected)),
    ),
  ];
}

// Bars reach to the edge at this distance from the mean, or at the largest one if that is farther.
const FAR = 3;

export function features({ shown, count, sparse }) {
  if (!shown.length) return element("p", { class: "muted" }, "All features of this row are zero.");
  const which = count > shown.length ? `${integer(shown.length)} of ${integer(count)}` : integer(count);
  const note = `${which} features${sparse ? " that are not zero" : ""}, unusual values first: bars show how many standard deviations (SDs) a value lies from the feature's mean in these data.`;
  const scale = Math.max(FAR, ...shown.map(({ deviation }) => Math.abs(deviation ?? 0)));
  return [
    element("p", { class: "note" }, note),
    scrollable("Features", { class: "scroll features" }, element(
      "table",
      {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "feature"), element("th", { scope: "col" }, "value"),
        element("th", { scope: "col", colspan: 2 }, "SDs from mean"))),
      element("tbody", {}, shown.map(({ name, value, deviation }) => element(
        "tr", {}, element("th", { scope: "row" }, name), element("td", { title: String(value) }, general(value)),
        element("td", { class: "muted", title: `${signed(deviation)} standard deviations` }, signed(deviation, 1)),
        element("td", { class: "bar-column" }, diverging((deviation ?? 0) / scale)),
      ))),
    )),
  ];
}

/** What is fixed, each with a button to release it, and how probable that was. */
export function evidence(node, names, fixed, onRelease) {
  const shown = [...fixed].map(([label, value]) => element(
    "span",
    { class: `chip fixed ${value ? "present" : "absent"}` },
    element("span", { class: "sign" }, value ? "+" : "−"), names[label],
    button("×", () => onRelease(label), { "aria-label": `Release ${names[label]}`, title: "release", class: "release" }),
  ));
  fill(node, shown.length ? shown : element("span", { class: "muted" }, "nothing; press + or − beside a label"));
}

export function evidenceProbability(node, p, count) {
  node.dataset.p = String(p);
  node.title = String(p);
  fill(node, count ? smallProbability(p) : probability(1));
}

// The model as a whole: measures, calibration of marginals and of the joint, and other models beside it.

import { Latest } from "./api.js";
import { curves, reliability } from "./charts.js";
import { element, failure, fill, scrollable } from "./dom.js";
import { general, integer, percent } from "./format.js";

export class ModelView {
  title = "Model";
  #latest = new Latest();

  constructor(root, context) {
    Object.assign(this, { root, context });
    this.message = element("div", {}, element("p", { class: "waiting" }, "Loading …"));
    this.body = element("div", { class: "model-view" });
    fill(root, element("h1", { class: "hidden", tabindex: "-1" }, "Model"), this.message, this.body);
    this.refresh();
  }

  update() {}

  async refresh() {
    try {
      const answer = await this.#latest.ask("model");
      if (!answer) return;
      fill(this.message, answer.ready < 1 ? element("p", { class: "note" }, `Computed from ${percent(answer.ready)} of the rows so far.`) : null);
      fill(this.body, this.#facts(answer), this.#calibration(answer), this.#comparison(answer.comparison));
    } catch (error) {
      fill(this.message, failure(error));
    }
  }

  #facts({ measures }) {
    const { summary } = this.context;
    const fact = (title, value) => element("div", {}, element("dt", {}, title), element("dd", {}, value));
    return element(
      "div", { class: "overview" },
      element("section", {}, element("h2", {}, "Model"), element("dl", { class: "facts" },
        fact("model", [element("span", { id: "model-name", title: summary.settings }, summary.model),
          element("details", {}, element("summary", {}, "settings"), element("code", {}, summary.settings))]), fact("data", summary.data), fact("rows", integer(summary.n_rows)),
        fact("features", integer(summary.n_features)), fact("labels", integer(summary.n_labels)))),
      element("section", {}, element("h2", {}, "Measures on these data"), measures.length
        ? element("table", { class: "measures" }, element("tbody", {}, measures.map(({ name, value }) =>
          element("tr", {}, element("th", { scope: "row" }, name), element("td", { title: String(value) }, general(value))))))
        : element("p", { class: "muted" }, summary.has_truth ? "Not computed yet." : "The data have no true labels, so there is nothing to measure by.")),
    );
  }

  #calibration({ marginals, joint, coverage }) {
    if (!marginals.length && !joint.length && !coverage.length) return null;
    const line = (title, name) => ({ title, points: coverage.map((point) => [point.coverage, point[name]]) });
    return element(
      "section", {}, element("h2", {}, "Calibration"),
      element(
        "div", { class: "charts" },
        marginals.length ? reliability("Probabilities of labels", marginals) : null,
        joint.length ? reliability("Exact match by confidence", joint, { xTitle: "confidence in the predicted set", yTitle: "share of exact matches", unit: "rows" }) : null,
        coverage.length ? curves("The most confident rows only", [line("exact match", "exact_match"), line("lowest confidence kept", "confidence")],
          { xTitle: "share of rows kept", yTitle: "share" }).figure : null,
      ),
    );
  }

  #comparison(comparison) {
    if (!comparison) return null;
    const { measures, methods, values, best, note } = comparison;
    const cell = (value, isBest) => element("td", { class: isBest ? "best" : null, title: isBest ? "best" : null },
      general(value), element("span", { class: "mark" }, isBest ? "●" : ""));
    return element(
      "section", {}, element("h2", {}, "Beside other models"),
      scrollable("Comparison of models", {}, element(
        "table", { class: "comparison" },
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "model"), measures.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, methods.map((method, i) => element("tr", {}, element("th", { scope: "row" }, method),
          values[i].map((value, j) => cell(value, best[i][j]))))),
      )),
      element("p", { class: "note" }, "● best of its column. ", note),
    );
  }

  destroy() {
    this.#latest.cancel();
  }
}

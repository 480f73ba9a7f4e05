// One label: is it calibrated, and what does its threshold do?

import { Latest } from "./api.js";
import { cursor, curves, reliability } from "./charts.js";
import { button, element, failure, fill, setText } from "./dom.js";
import { decimal, percent, probability } from "./format.js";
import { format } from "./route.js";

const SCORES = [["f1", "F1"], ["precision", "precision"], ["recall", "recall"]];

export class LabelView {
  #latest = new Latest();
  #answer = null;

  constructor(root, context, route) {
    Object.assign(this, { root, context, id: null });
    this.heading = element("h1", { tabindex: "-1" });
    this.message = element("div", {});
    this.body = element("div", {});
    fill(root, element("p", { class: "crumbs" }, element("a", { href: format({ view: "labels" }) }, "‹ all labels")), this.heading, this.message, this.body);
    this.update(route);
  }

  get title() {
    return this.context.summary.labels[this.id] ?? "Label";
  }

  update({ id, query }) {
    this.query = query;
    if (id === this.id) this.#show();
    else {
      this.id = id;
      this.#answer = null;
      setText(this.heading, this.title);
      this.refresh();
    }
  }

  async refresh() {
    this.body.classList.add("stale");
    try {
      const answer = await this.#latest.ask(`label/${this.id}`);
      if (!answer) return;
      this.#answer = answer;
      fill(this.message, answer.ready < 1 ? element("p", { class: "note" }, `Computed from ${percent(answer.ready)} of the rows so far.`) : null);
      this.#draw(answer);
    } catch (error) {
      fill(this.message, failure(error));
      fill(this.body);
    }
    this.body.classList.remove("stale");
  }

  #draw({ curve, reliability: bins, best }) {
    if (!curve.length) {
      fill(this.body, element("p", { class: "muted" }, "The data have no true labels, so how well this label is predicted is unknown."));
      return;
    }
    const series = SCORES.map(([name, title]) => ({ title, points: curve.map((point) => [point.threshold, point[name]]) }));
    const { figure, chart } = curves("Scores by threshold", series, { xTitle: "threshold", yTitle: "score" });
    this.move = cursor(chart);
    this.slider = element("input", { type: "range", min: 0, max: curve.length - 1, step: 1, id: "threshold", "aria-label": "Threshold",
      on: { input: () => this.#choose(curve[Number(this.slider.value)].threshold) } });
    this.value = element("strong", { class: "threshold-value" });
    this.scores = SCORES.map(([name, title]) => {
      const number = element("dd", { id: `at-${name}` });
      return { name, number, node: element("div", {}, element("dt", {}, title), number) };
    });
    fill(this.body, element(
      "div", { class: "charts" },
      figure, reliability("Reliability", bins),
    ));
    figure.lastElementChild.before(element(
      "div", { class: "threshold" },
      element("label", { for: "threshold" }, "predicted from probability ", this.value, " upwards"), this.slider,
      element("div", { class: "scores-line" }, element("dl", { class: "scores" }, this.scores.map(({ node }) => node)),
        best === null ? null : button(`Best F1, at ${decimal(best, 2)}`, () => this.#choose(best), { id: "best-f1" })),
    ));
    this.#show();
  }

  #choose(threshold) {
    this.context.navigate({ view: "labels", id: this.id, query: { ...this.query, threshold } }, { replace: true });
  }

  /** Scores at the threshold of the address. */
  #show() {
    const curve = this.#answer?.curve;
    if (!curve?.length) return;
    const asked = Number(this.query.threshold ?? 0.5);
    const distance = ({ threshold }) => Math.abs(threshold - asked);
    const index = curve.reduce((nearest, point, i) => (distance(point) < distance(curve[nearest]) ? i : nearest), 0);
    const point = curve[index];
    this.slider.value = String(index);
    this.slider.setAttribute("aria-valuetext", decimal(point.threshold, 2));
    setText(this.value, decimal(point.threshold, 2));
    this.move(point.threshold);
    for (const { name, number } of this.scores) {
      setText(number, probability(point[name]));
      number.dataset.p = String(point[name]);
    }
  }

  destroy() {
    this.#latest.cancel();
  }
}

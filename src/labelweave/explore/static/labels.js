// All labels: how they depend on each other, how well each is predicted, and which go together.

import { Latest } from "./api.js";
import { bar } from "./chips.js";
import { element, failure, fill, scrollable, select } from "./dom.js";
import { drawForest, effect, isolated, legend } from "./forest.js";
import { decimal, general, integer, percent, probability } from "./format.js";
import { HeatMap } from "./heatmap.js";
import { format } from "./route.js";
import { sortableTable } from "./table.js";

const KINDS = [["conditional", "P(column | row), data"], ["cooccurrence", "rows with both, data"], ["model", "P(column | row), model"]];
const SIZES = [10, 25, 50, 100];

const link = (names, label) => element("a", { href: format({ view: "labels", id: label }) }, names[label]);

export class LabelsView {
  title = "Labels";
  #latest = new Latest();
  #matrix = new Latest();
  #shown = "";

  constructor(root, context, route) {
    Object.assign(this, { root, context, names: context.summary.labels, answer: null });
    this.message = element("div", {}, element("p", { class: "waiting" }, "Loading …"));
    this.forest = element("section", { class: "dependence" });
    this.quality = element("section", { class: "quality" });
    this.heat = element("div", { class: "heat-place" });
    this.matrixBar = element("div", { class: "section-head" });
    this.body = element("div", { class: "labels-view", hidden: true }, this.forest, this.quality,
      element("section", { class: "matrix" }, this.matrixBar, this.heat));
    fill(root, element("h1", { class: "hidden", tabindex: "-1" }, "Labels"), this.message, this.body);
    this.resized = new ResizeObserver(() => this.#resize());
    this.resized.observe(this.heat);
    this.query = route.query;
    this.refresh();
  }

  async refresh() {
    try {
      const answer = await this.#latest.ask("labels");
      if (!answer) return;
      this.answer = answer;
      this.#shown = "";
      this.body.hidden = false;
      fill(this.message, answer.ready < 1 ? element("p", { class: "note" }, `Computed from ${percent(answer.ready)} of the rows so far.`) : null);
      this.#drawQuality();
      this.update({ query: this.query });
    } catch (error) {
      fill(this.message, failure(error));
    }
  }

  update({ query }) {
    this.query = query;
    if (!this.answer) return;
    this.#drawForest();
    this.#drawMatrix();
  }

  go(changes) {
    this.context.navigate({ view: "labels", query: { ...this.query, ...changes } });
  }

  #drawForest() {
    const { forests } = this.answer;
    const chosen = Math.min(Number(this.query.forest ?? 0) || 0, forests.length - 1);
    const forest = forests[chosen];
    const head = element("div", { class: "section-head" }, element("h2", {}, "Dependence"),
      forests.length > 1 ? select("forest", forests.map(({ title }, index) => [index, title]), chosen, (index) => this.go({ forest: index })) : null);
    if (!forest) {
      fill(this.forest, head, element("p", { class: "muted" }, "This model has no forest of dependence between labels."));
      return;
    }
    const drawing = drawForest(this.names, forest);
    fill(
      this.forest, head, element("p", { class: "note" }, `${forests.length > 1 ? "" : `${forest.title}. `}Width of an edge: ${forest.measure}.`),
      drawing ? legend(forest) : null,
      drawing ? scrollable(forest.title, { class: "scroll forest-box" }, drawing) : element("p", { class: "muted" }, "No label depends on another."),
      isolated(this.names, forest), drawing ? this.#edges(forest) : null,
    );
  }

  #edges({ measure, parents, strength, coupling }) {
    const rows = parents.map((parent, label) => ({ parent, label, strength: strength[label], coupling: coupling[label] })).filter(({ parent }) => parent >= 0);
    const columns = [
      { title: "label", value: ({ label }) => this.names[label], cell: ({ label }) => link(this.names, label), descending: false },
      { title: "parent", value: ({ parent }) => this.names[parent], cell: ({ parent }) => link(this.names, parent), descending: false },
      { title: "effect", hint: "in parentheses: what one label adds to the log odds of the other", value: (row) => row.coupling, cell: (row) => effect(row.coupling) },
      { title: "gain", hint: measure, value: (row) => row.strength, cell: (row) => general(row.strength) },
    ];
    return element("details", {}, element("summary", {}, `${integer(rows.length)} edges as a table`),
      sortableTable("Edges of the forest", columns, rows, { column: 3, descending: true }, { class: "scroll short second-left" }));
  }

  #drawQuality() {
    const { labels } = this.answer;
    const { has_truth: hasTruth } = this.context.summary;
    const share = (title, name, hint) => ({ title, hint, value: (row) => row[name], cell: (row) => probability(row[name]) });
    const columns = [
      { title: "label", value: ({ label }) => this.names[label], cell: ({ label }) => link(this.names, label), descending: false },
      ...(hasTruth ? [{ title: "positives", hint: "rows that have it", value: (row) => row.positives, cell: (row) => integer(row.positives) }] : []),
      { title: "expected", hint: "sum of its probabilities", value: (row) => row.expected, cell: (row) => decimal(row.expected, row.expected < 10 ? 2 : 1) },
      ...(hasTruth ? [
        { title: "F1", value: (row) => row.f1, cell: (row) => [bar(row.f1), probability(row.f1)] },
        share("precision", "precision"), share("recall", "recall"), share("AUC", "auc", "area under the ROC curve"),
      ] : []),
    ];
    fill(this.quality, element("h2", {}, hasTruth ? "Quality" : "Frequency"),
      sortableTable("Quality of each label", columns, labels, { column: 1, descending: true }, { class: "scroll tall" }));
  }

  #frequent(count) {
    const size = ({ positives, expected }) => positives ?? expected;
    return [...this.answer.labels].sort((a, b) => size(b) - size(a)).slice(0, count).map(({ label }) => label);
  }

  #resize() {
    const width = this.heat.clientWidth;
    if (!this.matrixAnswer || Math.abs(width - this.drawnFor) < 40) return;
    this.#drawHeat();
  }

  #drawHeat() {
    this.drawnFor = this.heat.clientWidth;
    fill(this.heat, new HeatMap(this.names, this.matrixAnswer, this.drawnFor).node);
  }

  async #drawMatrix() {
    const kinds = this.context.summary.has_truth ? KINDS : KINDS.slice(-1);
    const kind = kinds.find(([name]) => name === this.query.matrix)?.[0] ?? kinds[0][0];
    const total = this.names.length;
    const sizes = [...SIZES.filter((size) => size < total), ...(total <= SIZES.at(-1) ? [total] : [])];
    const asked = Number(this.query.count) || 25;
    const count = sizes.includes(asked) ? asked : sizes.findLast((size) => size <= asked) ?? sizes[0];
    fill(
      this.matrixBar, element("h2", {}, "Together"),
      select("show", kinds, kind, (matrix) => this.go({ matrix })),
      sizes.length > 1 ? select("labels", sizes.map((size) => [size, size === total ? `all ${size}` : `${size} most frequent`]), count, (size) => this.go({ count: size })) : null,
    );
    if (this.#shown === `${kind}/${count}`) return;
    this.#shown = `${kind}/${count}`;
    this.heat.classList.add("stale");
    try {
      const answer = await this.#matrix.ask("matrix", { kind, labels: this.#frequent(count).join(",") });
      if (!answer) return;
      this.matrixAnswer = answer;
      this.#drawHeat();
    } catch (error) {
      fill(this.heat, failure(error));
    }
    this.heat.classList.remove("stale");
  }

  destroy() {
    this.resized.disconnect();
    this.#latest.cancel();
    this.#matrix.cancel();
  }
}

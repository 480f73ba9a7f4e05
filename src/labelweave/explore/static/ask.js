// One row: fix labels present or absent and see how all others follow.

import { Latest } from "./api.js";
import * as parts from "./answer.js";
import { legend } from "./chips.js";
import { button, element, failure, fill, select, setText } from "./dom.js";
import { integer } from "./format.js";
import { Marginals } from "./marginals.js";
import { formatFixed, parseFixed } from "./route.js";
import { Why } from "./why.js";

const panel = (title, body, properties = {}) => element("section", properties, element("h2", {}, title), body);

export class AskView {
  #latest = new Latest();
  #background = new Latest();
  #undo = [];
  #before = { row: null, marginals: null };
  #answer = null;

  constructor(root, context, route) {
    Object.assign(this, { root, context, row: null, query: {} });
    const { summary } = context;
    this.build(summary);
    fill(
      root,
      element("div", { class: "ask-head" }, this.pick, element("div", { class: "evidence" },
        element("span", { class: "muted" }, "fixed:"), this.fixedChips,
        element("span", { class: "line" }, "their probability: ", this.evidenceP)),
      element("div", { class: "actions" }, this.undoButton, this.resetButton)),
      this.message,
      (this.body = element(
        "div", { class: "ask", hidden: true },
        element("section", { class: "all-labels" },
          element("div", { class: "section-head" }, element("h2", {}, "Labels"), this.again, this.filter, this.sort),
          this.marginals.node, this.note),
        element("div", { class: "answers" }, this.why.node, panel("Most probable set", this.mode), panel("Decision", this.decision),
          panel("Most probable sets", this.top), legend(summary.has_truth)),
        panel("Features", this.features, { class: "features-panel" }),
      )),
    );
    this.update(route);
  }

  build(summary) {
    this.number = element("input", { type: "number", min: "0", max: summary.n_rows - 1, "aria-label": "Number of the row",
      on: { change: () => this.goTo(Number(this.number.value)) } });
    this.previous = button("‹", () => this.goTo(this.row - 1), { "aria-label": "Previous row", title: "previous row" });
    this.next = button("›", () => this.goTo(this.row + 1), { "aria-label": "Next row", title: "next row" });
    this.pick = element("div", { class: "pick" }, element("h1", { tabindex: "-1" }, "Row"), this.previous, this.number, this.next,
      element("span", { class: "muted" }, `of ${integer(summary.n_rows)}`));
    this.fixedChips = element("span", { class: "set" });
    this.evidenceP = element("strong", { id: "evidence-probability" });
    this.undoButton = button("Undo", () => this.undo(), { id: "undo" });
    this.resetButton = button("Reset", () => this.change(new Map()), { id: "reset" });
    this.message = element("div", {});
    this.marginals = new Marginals(summary.labels, {
      onFix: (label, value) => this.fix(label, value),
      onName: (label) => this.openName(label),
      onOrder: (outOfDate) => { this.again.disabled = !outOfDate; },
      nameTitle: summary.can_explain ? "why this probability?" : "about this label",
    });
    this.filter = element("input", { type: "search", placeholder: "filter", "aria-label": "Filter labels by name",
      on: { input: () => { this.marginals.filter = this.filter.value; } } });
    this.sort = select("sort by", [["probability", "probability"], ["change", "change"], ["name", "name"], ["number", "number"]],
      "probability", (sort) => { this.marginals.sort = sort; });
    this.again = button("sort again", () => this.marginals.arrange(), { class: "plain", disabled: true });
    this.note = element("p", { class: "note" });
    this.why = new Why(summary.labels, () => this.go({ why: null }, { replace: true }));
    this.mode = element("div", {});
    this.decision = element("div", { class: "decision" });
    this.top = element("div", { class: "top" });
    this.features = element("div", {});
  }

  get title() {
    return `Row ${this.row}`;
  }

  update({ id, query, popped }) {
    const row = id ?? 0;
    if (row !== this.row || popped) this.#undo = [];
    Object.assign(this, { row, query, fixed: parseFixed(query.fixed) });
    this.number.value = String(row);
    this.previous.disabled = row <= 0;
    this.next.disabled = row >= this.context.summary.n_rows - 1;
    this.undoButton.disabled = !this.#undo.length && !this.fixed.size;
    this.resetButton.disabled = !this.fixed.size;
    this.marginals.fixed = this.fixed;
    parts.evidence(this.fixedChips, this.context.summary.labels, this.fixed, (label) => this.fix(label, null));
    this.ask();
  }

  /** Ask for what the address says, unless its answer is shown already. */
  async ask() {
    const fixed = formatFixed(this.fixed);
    const decision = this.query.decision ?? this.context.summary.decisions[0].name;
    const question = `${this.row}/${fixed}/${decision}`;
    const label = this.context.summary.can_explain && this.query.why !== undefined ? Number(this.query.why) : null;
    this.why.show(this.row, label, fixed);
    if (question === this.#answer?.question) return this.settle();
    this.body.classList.add("stale");
    try {
      const answer = await this.#latest.ask(`row/${this.row}`, { fixed, decision });
      if (!answer) return undefined;
      const isNewRow = answer.row !== this.#answer?.row;
      this.#answer = { ...answer, question };
      this.settle();
      this.draw(answer, isNewRow);
    } catch (error) {
      this.#answer = this.#answer && { ...this.#answer, question: null };
      fill(this.message, failure(error, this.fixed.size ? button("Undo", () => this.undo()) : null));
    }
    return undefined;
  }

  settle() {
    this.#latest.cancel();
    this.body.classList.remove("stale");
    fill(this.message);
  }

  draw(answer, isNewRow) {
    const { summary } = this.context;
    this.body.hidden = false;
    if (!this.fixed.size) this.#before = { row: answer.row, marginals: answer.marginals };
    const known = this.#before.row === answer.row;
    this.marginals.show(answer, known ? this.#before.marginals : null, isNewRow);
    this.why.marginals = answer.marginals;
    parts.evidenceProbability(this.evidenceP, answer.evidence_probability, this.fixed.size);
    fill(this.mode, parts.mode(summary.labels, answer));
    const focused = this.decision.contains(document.activeElement);
    fill(this.decision, parts.decision(summary, answer, (decision) => this.go({ decision })));
    if (focused) this.decision.querySelector('[aria-pressed="true"]').focus({ preventScroll: true });
    fill(this.top, parts.topSets(summary.labels, answer));
    if (isNewRow) fill(this.features, parts.features(answer.features));
    setText(this.note, this.noteText(answer));
    if (!known) this.askBefore(answer);
  }

  noteText(answer) {
    const sampled = answer.exact ? "" : "± is one standard error, sampled. ";
    const truth = answer.truth ? "◆ is in the true set. " : "";
    const before = this.fixed.size ? "The upright line is the probability with nothing fixed. " : "";
    return `${sampled}${truth}${before}Answered in ${answer.milliseconds < 10 ? answer.milliseconds.toFixed(1) : integer(answer.milliseconds)} ms.`;
  }

  /** The marginals with nothing fixed, for comparison, when the address brought fixed labels along. */
  async askBefore(answer) {
    try {
      const before = await this.#background.ask(`row/${answer.row}`, {});
      if (!before || before.row !== this.#answer.row) return;
      this.#before = { row: before.row, marginals: before.marginals };
      this.marginals.show(this.#answer, before.marginals, false);
    } catch {
      // The comparison is an extra; the answer itself is on the page.
    }
  }

  go(changes, options) {
    this.context.navigate({ view: "ask", id: this.row, query: { ...this.query, ...changes } }, options);
  }

  goTo(row) {
    const last = this.context.summary.n_rows - 1;
    const id = Math.min(last, Math.max(0, Math.round(row) || 0));
    this.number.value = String(id);
    const { decision, why } = this.query;
    if (id !== this.row) this.context.navigate({ view: "ask", id, query: { decision, why } });
  }

  openName(label) {
    if (!this.context.summary.can_explain) this.context.navigate({ view: "labels", id: label });
    else this.go({ why: String(label) === this.query.why ? null : label }, { replace: true });
  }

  fix(label, value) {
    const fixed = new Map(this.fixed);
    fixed.delete(label);
    if (value !== null) fixed.set(label, value);
    this.change(fixed);
  }

  change(fixed) {
    this.#undo.push(this.fixed);
    this.go({ fixed: formatFixed(fixed) });
  }

  /** Back to what was fixed before; labels that a link brought along are released from the last to the first. */
  undo() {
    const before = this.#undo.pop() ?? new Map([...this.fixed].slice(0, -1));
    this.go({ fixed: formatFixed(before) });
  }

  destroy() {
    this.#latest.cancel();
    this.#background.cancel();
    this.why.show(this.row, null, "");
  }
}

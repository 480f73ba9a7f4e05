// The list of rows: searched and ordered by the server, drawn as far as it is in sight.

import { debounce } from "./api.js";
import { bar, chips, legend } from "./chips.js";
import { button, element, failure, fill, select, setText } from "./dom.js";
import { decimal, integer, plural, smallProbability, times } from "./format.js";
import { fitChips } from "./overflow.js";
import { Pages } from "./pages.js";
import { format } from "./route.js";
import { VirtualList } from "./virtual.js";

const narrow = matchMedia("(max-width: 44rem)");
// What is looked for first: the least certain rows, the largest errors, the longest lists.
const DESCENDING = { entropy: true, error: true, labels: true };
// Names beside the numbers where there is no room for a head of columns.
const SHORT = { entropy: "H", error: "err" };
// Where the list was left, by its address: the way back leads to the same place.
const left = new Map();

const rowHeight = () => (narrow.matches ? 66 : 34);

export class RowsView {
  title = "Rows";

  constructor(root, context, route) {
    Object.assign(this, { root, context, active: -1, query: null });
    const { summary } = context;
    this.columns = [
      ["number", "row"], ["labels", "predicted labels"], ["confidence", "confidence"], ["entropy", "entropy"],
      ...(summary.has_truth ? [["error", "suspected error"]] : []),
    ];
    this.search = element("input", {
      type: "search", placeholder: "label, or number of a row", "aria-label": "Search rows", on: { input: () => this.searched() },
    });
    this.searched = debounce(250, () => this.go({ search: this.search.value.trim() }, true));
    this.order = select("Order by", summary.orders.map(({ name, title }) => [name, title]), "", (order) =>
      this.go({ order, descending: DESCENDING[order] ?? false }));
    this.direction = button("", () => this.go({ descending: !this.descending }), { class: "direction" });
    this.count = element("span", { class: "muted count", "aria-live": "polite" });
    this.head = element("div", { class: "row head", role: "row" });
    this.message = element("div", {});
    this.grid = element("div", {
      class: "grid", role: "grid", tabindex: "0", "aria-label": "Rows", on: { keydown: (event) => this.key(event) },
    });
    fill(
      root,
      element("h1", { class: "hidden", tabindex: "-1" }, "Rows"),
      element("div", { class: "toolbar" }, this.search, this.order, this.direction, this.count, legend(summary.has_truth)),
      this.message,
      element("div", { class: `rows${summary.has_truth ? " with-truth" : ""}` }, this.head, this.grid),
    );
    this.pages = new Pages({
      onPage: (...page) => this.page(...page),
      onFailure: (error) => fill(this.message, failure(error, button("Try again", () => this.restart()))),
    });
    this.list = new VirtualList(this.grid, {
      rowHeight: rowHeight(),
      render: (index) => this.row(index),
      onRange: (from, to) => this.pages.want(from, to),
    });
    this.resized = () => { this.list.height = rowHeight(); };
    narrow.addEventListener("change", this.resized);
    this.unfitted = new Set();
    this.widened = new ResizeObserver(() => fitChips([...this.grid.querySelectorAll(".labels")]));
    this.widened.observe(this.grid);
    this.update(route);
  }

  /** Show what the address says. */
  update({ query, popped }) {
    this.remember();
    this.restoring = this.query === null || popped;
    this.query = query;
    this.orderName = query.order ?? this.context.summary.orders[0].name;
    this.descending = query.descending === "1";
    if (document.activeElement !== this.search) this.search.value = query.search ?? "";
    this.order.querySelector("select").value = this.orderName;
    setText(this.direction, this.descending ? "↓" : "↑");
    this.direction.title = this.descending ? "largest first" : "smallest first";
    this.direction.setAttribute("aria-label", `Direction: ${this.direction.title}`);
    this.drawHead();
    this.restart();
  }

  restart() {
    this.grid.classList.add("stale");
    this.pages.restart({ order: this.orderName, descending: this.descending ? 1 : 0, search: this.query.search ?? "" });
  }

  go(changes, replace = false) {
    const query = { ...this.query, order: this.orderName, descending: this.descending, ...changes };
    this.context.navigate({ view: "rows", query }, { replace });
  }

  page(answer, start, isNew) {
    fill(this.message, answer.total ? null : element("p", { class: "muted" }, this.nothing(answer)));
    const changed = this.list.total !== answer.total;
    if (changed) this.list.total = answer.total;
    this.grid.setAttribute("aria-rowcount", String(answer.total + 1));
    setText(this.count, answer.total === this.context.summary.n_rows ? plural(answer.total, "row")
      : `${integer(answer.total)} of ${plural(this.context.summary.n_rows, "row")}`);
    if (isNew) {
      this.grid.classList.remove("stale");
      this.active = -1;
      this.list.position = this.restoring ? left.get(format({ view: "rows", query: this.query })) ?? 0 : 0;
      this.list.clear();
      return;
    }
    for (let index = start; index < start + answer.rows.length; index += 1) this.list.redraw(index);
    if (changed) this.list.layout();
  }

  nothing(answer) {
    if (this.query.search) return "No row fits what was searched for.";
    return answer.ready < 1 ? "No answers have been computed yet; they appear here as they arrive." : "There are no rows.";
  }

  drawHead() {
    const known = new Set(this.context.summary.orders.map(({ name }) => name));
    fill(this.head, this.columns.map(([name, title]) => {
      const current = name === this.orderName;
      const sort = current ? (this.descending ? "descending" : "ascending") : null;
      const descending = current ? !this.descending : DESCENDING[name] ?? false;
      const arrow = current ? element("span", { class: "arrow", "aria-hidden": "true" }, this.descending ? "↓" : "↑") : null;
      const text = name === "labels" || name === "confidence" ? [title, arrow] : [arrow, title];
      return element("div", { role: "columnheader", class: name, "aria-sort": sort },
        known.has(name) ? button(text, () => this.go({ order: name, descending })) : title);
    }));
  }

  row(index) {
    const row = this.pages.row(index);
    const properties = { class: `row${index === this.active ? " active" : ""}`, role: "row", id: `list-${index}`, "aria-rowindex": index + 2 };
    if (!row) return element("div", properties, element("div", { class: "number muted", role: "gridcell" }, "…"));
    const { labels } = this.context.summary;
    const address = format({ view: "ask", id: row.row });
    const cells = {
      number: element("a", { href: address, tabindex: "-1", "aria-label": `Row ${row.row}` }, String(row.row)),
      labels: row.confidence === null ? element("span", { class: "muted" }, "not computed yet") : chips(labels, row.predicted, row.truth),
      confidence: row.confidence === null ? null : [bar(row.confidence), element("span", { class: "p" }, smallProbability(row.confidence))],
      entropy: row.entropy === null ? null : decimal(row.entropy, 2),
      error: row.error === null ? null : decimal(row.error, 2),
    };
    const titles = {
      entropy: "entropy of the joint distribution, in nats",
      error: row.error > 0 ? `the most probable set is ${times(Math.exp(row.error))} times as probable as the true one` : null,
    };
    const drawn = element("div", { ...properties, "data-row": row.row }, this.columns.map(([name]) =>
      element("div", { class: name, role: "gridcell", title: titles[name], "data-short": SHORT[name] }, cells[name])));
    this.fitSoon(drawn.querySelector(".labels"));
    return drawn;
  }

  /** Fit the labels once the row is in the document, together with those of all rows drawn now. */
  fitSoon(cell) {
    if (!this.unfitted.size) {
      queueMicrotask(() => {
        fitChips([...this.unfitted]);
        this.unfitted.clear();
      });
    }
    this.unfitted.add(cell);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.list.rowHeight) - 1);
    const last = this.list.total - 1;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -last - 1, End: last + 1 };
    if (event.key === "Enter" && this.active >= 0) {
      const row = this.pages.row(this.active);
      if (row) this.context.navigate({ view: "ask", id: row.row });
    } else if (event.key in moves && last >= 0) {
      const before = this.active;
      const start = before < 0 ? Math.ceil(this.list.position) - (moves[event.key] > 0 ? 1 : 0) : before;
      this.active = Math.min(last, Math.max(0, start + moves[event.key]));
      this.list.reveal(this.active);
      this.list.redraw(before);
      this.list.redraw(this.active);
      this.grid.setAttribute("aria-activedescendant", `list-${this.active}`);
    } else return;
    event.preventDefault();
  }

  refresh() {
    this.pages.refresh();
  }

  remember() {
    if (this.query && this.list.total) left.set(format({ view: "rows", query: this.query }), this.list.position);
  }

  destroy() {
    this.remember();
    narrow.removeEventListener("change", this.resized);
    this.widened.disconnect();
    this.searched.cancel();
    this.pages.cancel();
    this.list.destroy();
  }
}

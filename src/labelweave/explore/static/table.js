// A table that is sorted by a click on the head of a column.

import { button, element, fill, scrollable } from "./dom.js";

/** Sort by `value`; what is unknown comes last either way. */
function compare(column, descending) {
  return (first, second) => {
    const [a, b] = [column.value(first), column.value(second)];
    if (a === null || b === null || a === undefined || b === undefined) return (a === null || a === undefined) - (b === null || b === undefined);
    const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return descending ? -order : order;
  };
}

/**
 * @param columns `{title, value: row -> number or string, cell: row -> children, descending}`; the first one names the row
 * @param sort `{column, descending}` to begin with
 */
export function sortableTable(caption, columns, rows, sort, properties = {}) {
  const head = element("tr", {});
  const body = element("tbody", {});
  let state = sort;

  function draw() {
    fill(head, columns.map((column, index) => {
      const current = index === state.column;
      const descending = current ? !state.descending : column.descending ?? true;
      const arrow = current ? element("span", { class: "arrow", "aria-hidden": "true" }, state.descending ? "↓" : "↑") : null;
      return element("th", { scope: "col", "aria-sort": current ? (state.descending ? "descending" : "ascending") : null },
        button(index ? [arrow, column.title] : [column.title, arrow], () => show({ column: index, descending }), { title: column.hint }));
    }));
    const sorted = [...rows].sort(compare(columns[state.column], state.descending));
    fill(body, sorted.map((row) => element("tr", {}, columns.map((column, index) =>
      (index ? element("td", {}, column.cell(row)) : element("th", { scope: "row" }, column.cell(row)))))));
  }

  function show(next) {
    state = next;
    draw();
    head.querySelectorAll("button")[next.column].focus({ preventScroll: true });
  }

  draw();
  return scrollable(caption, properties, element("table", { class: "sortable" }, element("caption", { class: "hidden" }, caption), element("thead", {}, head), body));
}

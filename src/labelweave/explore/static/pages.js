// The rows of one search and order, fetched a page at a time.

import { debounce, get } from "./api.js";

export const PAGE = 100;
const KEPT = 40;

export class Pages {
  #rows = new Map();
  #asked = new Map();
  #wanted = [];
  #parameters = {};

  /** @param onPage called with an answer, the first index it covers and whether it is the first of a new search */
  constructor({ onPage, onFailure }) {
    Object.assign(this, { onPage, onFailure });
    // While someone drags the scroll bar, pages rush by that nobody will look at.
    this.fetchWanted = debounce(60, () => this.#fetch());
  }

  /** Begin a new search or order: what was asked before is dropped, what was fetched is shown until it is replaced. */
  restart(parameters) {
    this.#parameters = parameters;
    this.cancel();
    this.#ask(0, true);
  }

  /** Ask again for what is in sight, as more answers have been computed. */
  refresh() {
    const seen = this.#wanted.length ? this.#wanted : [0];
    for (const page of [...this.#rows.keys()]) if (!seen.includes(page)) this.#rows.delete(page);
    for (const page of seen) if (!this.#asked.has(page)) this.#ask(page, false);
  }

  row(index) {
    return this.#rows.get(Math.floor(index / PAGE))?.[index % PAGE] ?? null;
  }

  want(from, to) {
    this.#wanted = [];
    for (let page = Math.floor(from / PAGE); page * PAGE < to; page += 1) this.#wanted.push(page);
    if (this.#wanted.some((page) => !this.#rows.has(page) && !this.#asked.has(page))) this.fetchWanted();
  }

  cancel() {
    this.fetchWanted.cancel();
    this.#asked.forEach((controller) => controller.abort());
    this.#asked.clear();
  }

  #fetch() {
    for (const [page, controller] of this.#asked) {
      if (this.#wanted.includes(page)) continue;
      controller.abort();
      this.#asked.delete(page);
    }
    for (const page of this.#wanted) if (!this.#rows.has(page) && !this.#asked.has(page)) this.#ask(page, false);
  }

  async #ask(page, isNew) {
    const controller = new AbortController();
    this.#asked.set(page, controller);
    try {
      const answer = await get("rows", { start: page * PAGE, count: PAGE, ...this.#parameters }, controller.signal);
      if (controller.signal.aborted) return;
      this.#asked.delete(page);
      this.#keep(page, answer.rows, isNew);
      this.onPage(answer, page * PAGE, isNew);
    } catch (error) {
      if (controller.signal.aborted) return;
      this.#asked.delete(page);
      this.onFailure(error);
    }
  }

  #keep(page, rows, isNew) {
    if (isNew) this.#rows.clear();
    this.#rows.delete(page);
    this.#rows.set(page, rows);
    for (const oldest of this.#rows.keys()) {
      if (this.#rows.size <= KEPT) break;
      if (!this.#wanted.includes(oldest)) this.#rows.delete(oldest);
    }
  }
}

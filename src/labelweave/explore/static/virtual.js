// A list of any length of which only the rows in sight are in the document.

const OVERSCAN = 6;
// Browsers do not lay out elements much higher than this; longer lists are scrolled in proportion.
const MAX_HEIGHT = 8e6;

export class VirtualList {
  #items = new Map();
  #total = 0;

  /**
   * @param viewport the box that scrolls
   * @param render index -> element
   * @param onRange called with the first index in sight and the one after the last
   */
  constructor(viewport, { rowHeight, render, onRange }) {
    Object.assign(this, { viewport, rowHeight, render, onRange });
    this.canvas = document.createElement("div");
    this.canvas.className = "canvas";
    this.canvas.setAttribute("role", "presentation");
    viewport.append(this.canvas);
    viewport.addEventListener("scroll", () => this.layout(), { passive: true });
    this.observer = new ResizeObserver(() => this.layout());
    this.observer.observe(viewport);
  }

  get total() {
    return this.#total;
  }

  set total(value) {
    this.#total = value;
    this.canvas.style.height = `${Math.min(value * this.rowHeight, MAX_HEIGHT)}px`;
  }

  set height(value) {
    this.rowHeight = value;
    this.total = this.#total;
    this.clear();
  }

  /** Pixels of the whole list per pixel of scrolling; 1 unless the list is very long. */
  get #ratio() {
    const seen = this.viewport.clientHeight;
    const real = this.#total * this.rowHeight - seen;
    return real <= MAX_HEIGHT - seen ? 1 : real / (MAX_HEIGHT - seen);
  }

  /** The position, in rows, of what is at the upper edge. */
  get position() {
    return (this.viewport.scrollTop * this.#ratio) / this.rowHeight;
  }

  set position(rows) {
    this.viewport.scrollTop = (rows * this.rowHeight) / this.#ratio;
    this.layout();
  }

  /** Scroll as little as needed for row `index` to be in sight. */
  reveal(index) {
    const rows = this.viewport.clientHeight / this.rowHeight;
    const first = this.position;
    if (index < first) this.position = index;
    else if (index + 1 > first + rows) this.position = index + 1 - rows;
    else this.layout();
  }

  /** Draw all rows in sight anew. */
  clear() {
    this.#items.forEach((item) => item.remove());
    this.#items.clear();
    this.layout();
  }

  layout() {
    const first = this.position;
    const rows = this.viewport.clientHeight / this.rowHeight;
    const from = Math.max(0, Math.floor(first) - OVERSCAN);
    const to = Math.min(this.#total, Math.ceil(first + rows) + OVERSCAN);
    for (const [index, item] of this.#items) {
      if (index >= from && index < to) continue;
      item.remove();
      this.#items.delete(index);
    }
    for (let index = from; index < to; index += 1) this.#place(index, first);
    this.onRange(from, to);
  }

  #place(index, first) {
    let item = this.#items.get(index);
    if (!item) {
      item = this.render(index);
      this.#items.set(index, item);
      this.canvas.append(item);
    }
    const top = this.viewport.scrollTop + (index - first) * this.rowHeight;
    item.style.transform = `translateY(${Math.round(top)}px)`;
  }

  /** Draw row `index` anew if it is in sight. */
  redraw(index) {
    const item = this.#items.get(index);
    if (!item) return;
    const drawn = this.render(index);
    drawn.style.transform = item.style.transform;
    item.replaceWith(drawn);
    this.#items.set(index, drawn);
  }

  destroy() {
    this.observer.disconnect();
  }
}

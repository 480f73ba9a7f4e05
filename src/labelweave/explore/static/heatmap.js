// A matrix of labels by labels as shades of one colour.

import { element, fill, scrollable, shape } from "./dom.js";
import { decimal, general, integer } from "./format.js";
import { fitted } from "./measure.js";

const NAMED = 50;
const WRITTEN = 12;

// Names of columns are turned by this angle, in degrees.
const SLANT = 55;

/** Shares are shaded in proportion, counts by their square root; the diagonal of counts does not set the scale. */
function shading(kind, values) {
  if (kind !== "cooccurrence") return { largest: 1, shade: (value) => value ?? 0 };
  const others = values.flatMap((row, i) => row.filter((_, j) => i !== j));
  const largest = Math.max(...others, 1);
  return { largest, shade: (value) => Math.min(1, Math.sqrt(value / largest)) };
}

function scale({ largest, shade }, kind) {
  const stops = kind === "cooccurrence" ? [0, 0.0625, 0.25, 0.5625, 1] : [0, 0.25, 0.5, 0.75, 1];
  return element("span", { class: "scale", "aria-label": "Scale" }, stops.map((stop) => {
    const value = stop * largest;
    const swatch = shape("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" },
      shape("rect", { class: "cell", width: 10, height: 10, "fill-opacity": shade(value).toFixed(3) }));
    return element("span", {}, swatch, kind === "cooccurrence" ? integer(value) : decimal(value, 2));
  }));
}

/** Sizes of a cell and of the margins that the names need, in pixels. */
function sizes(names, room) {
  const count = names.length;
  const most = count <= 12 ? 46 : 28;
  const least = count <= 25 ? 15 : count <= 50 ? 13 : 6;
  const font = least < 15 ? 11 : 12;
  const texts = count <= NAMED ? names.map((name) => fitted(name, room < 500 ? 90 : 150, font)) : null;
  const longest = texts ? Math.max(...texts.map(({ width }) => width)) : 0;
  const turned = (SLANT * Math.PI) / 180;
  const left = texts ? longest + 8 : 2;
  const top = texts ? longest * Math.sin(turned) + 14 : 2;
  const right = texts ? texts.at(-1).width * Math.cos(turned) : 2;
  const cell = Math.floor(Math.max(least, Math.min(most, (room - left - right - 4) / count)));
  return { cell, left, top, font, texts, width: left + count * cell + Math.max(2, right), height: top + count * cell + 2 };
}

export class HeatMap {
  #at = { row: 0, column: 0 };

  constructor(names, { kind, labels, values, title }, room) {
    Object.assign(this, { names, kind, labels, values });
    this.size = sizes(labels.map((label) => names[label]), room);
    this.shading = shading(kind, values);
    this.status = element("p", { class: "status", "aria-live": "polite" });
    this.cursor = shape("rect", { class: "cursor", width: this.size.cell, height: this.size.cell, visibility: "hidden" });
    this.node = element("div", { class: "heat" }, element("div", { class: "heat-head" }, this.status, scale(this.shading, kind)),
      scrollable(title, { class: "scroll", tabindex: "-1" }, this.#draw(title)));
    this.#say(null);
  }

  #text(value) {
    return this.kind === "cooccurrence" ? integer(value) : decimal(value, 2);
  }

  #draw(title) {
    const { width, height, texts } = this.size;
    const svg = shape("svg", {
      class: "heatmap", width, height, tabindex: "0", role: "img", "aria-label": `${title}; arrow keys read the cells`,
      on: {
        pointermove: (event) => this.#point(event), pointerdown: (event) => this.#point(event), pointerleave: () => this.#leave(),
        keydown: (event) => this.#key(event), focus: () => this.#move(0, 0), blur: () => this.#leave(),
      },
    });
    texts?.forEach(({ text }, index) => svg.append(...this.#names(text, index)));
    this.values.forEach((row, i) => row.forEach((value, j) => svg.append(...this.#cell(value, i, j))));
    svg.append(this.cursor);
    return svg;
  }

  #names(text, index) {
    const { left, top, cell, font } = this.size;
    const middle = (index + 0.5) * cell;
    const title = () => shape("title", {}, this.names[this.labels[index]]);
    return [
      shape("text", { "font-size": font, x: left - 6, y: top + middle + 4, "text-anchor": "end" }, text, title()),
      shape("text", { "font-size": font, transform: `translate(${left + middle + 3} ${top - 6}) rotate(${-SLANT})` }, text, title()),
    ];
  }

  #cell(value, i, j) {
    const { left, top, cell } = this.size;
    const side = cell - (cell > 10 ? 1 : 0);
    const [x, y] = [left + j * cell, top + i * cell];
    const shade = this.shading.shade(value);
    const rect = shape("rect", { class: "cell", x, y, width: side, height: side, "fill-opacity": shade.toFixed(3) });
    if (this.labels.length > WRITTEN || cell < 30) return [rect];
    const tone = shade > 0.85 ? "deep" : shade > 0.68 ? "middle" : "";
    return [rect, shape("text", { class: `written ${tone}`, x: x + cell / 2, y: y + cell / 2 + 4, "text-anchor": "middle" }, this.#text(value))];
  }

  #point(event) {
    const { left, top, cell } = this.size;
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left) / cell);
    const row = Math.floor((event.clientY - box.top - top) / cell);
    const inside = (index) => index >= 0 && index < this.labels.length;
    if (inside(row) && inside(column)) this.#say({ row, column });
    else this.#leave();
  }

  #key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!(event.key in steps)) return;
    this.#move(...steps[event.key]);
    event.preventDefault();
  }

  #move(down, right) {
    const last = this.labels.length - 1;
    const clip = (index) => Math.min(last, Math.max(0, index));
    this.#say({ row: clip(this.#at.row + down), column: clip(this.#at.column + right) });
  }

  #leave() {
    this.#say(null);
  }

  #say(at) {
    this.cursor.setAttribute("visibility", at ? "visible" : "hidden");
    if (!at) {
      fill(this.status, element("span", { class: "muted" }, "Point at a cell to read it."));
      return;
    }
    this.#at = at;
    const { left, top, cell } = this.size;
    this.cursor.setAttribute("x", left + at.column * cell);
    this.cursor.setAttribute("y", top + at.row * cell);
    const [row, column] = [this.names[this.labels[at.row]], this.names[this.labels[at.column]]];
    const value = this.values[at.row][at.column];
    const what = this.kind === "cooccurrence" ? [element("b", {}, row), " and ", element("b", {}, column), ": ", integer(value)]
      : ["P(", element("b", {}, column), " | ", element("b", {}, row), ") = ", general(value)];
    fill(this.status, what);
  }
}

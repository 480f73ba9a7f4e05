// Every label of a row: its probability, and a control that fixes it present or absent.

import { button, element, fill, setText } from "./dom.js";
import { probability } from "./format.js";

const STATES = [["present", "+", "1"], ["unknown", "?", "u"], ["absent", "−", "0"]];
const VALUES = { present: 1, absent: 0, unknown: null };
const KEYS = { 1: "present", 0: "absent", u: "unknown", U: "unknown" };
const CONTROLS = ["name", "present", "unknown", "absent"];

export class Marginals {
  #answer = null;
  #before = null;
  #truth = null;
  #fixed = new Map();
  #order = [];
  #sort = "probability";
  #filter = "";
  #current = { label: 0, control: "present" };

  /** @param onFix called with a label and 1, 0 or null; onName with a label; onOrder when the order is out of date */
  constructor(names, { onFix, onName, onOrder, nameTitle }) {
    Object.assign(this, { names, onFix, onName, onOrder, nameTitle });
    this.items = names.map((name, label) => this.#item(name, label));
    this.none = element("li", { class: "none muted", hidden: true }, "No label has such a name.");
    this.node = element("ul", {
      class: names.length > 80 ? "marginals many" : "marginals", "aria-label": "Probability of each label",
      on: { click: (event) => this.#click(event), keydown: (event) => this.#key(event) },
    });
    this.#order = names.map((_, label) => label);
    fill(this.node, this.items.map(({ node }) => node), this.none);
    this.#focusable();
  }

  #item(name, label) {
    const part = {
      mark: element("span", { class: "truth" }),
      name: button(name, null, { class: "name", "data-control": "name", tabindex: "-1", title: `${name}: ${this.nameTitle}` }),
      filled: element("span", { class: "filled" }),
      error: element("span", { class: "whisker", hidden: true }),
      before: element("span", { class: "before", hidden: true }),
      number: element("span", { class: "p" }),
      states: STATES.map(([state, sign, key]) => button(sign, null, {
        "data-control": state, "data-value": state, tabindex: "-1", "aria-pressed": String(state === "unknown"),
        "aria-label": `${name} ${state}`, title: `${state} (${key})`,
      })),
    };
    part.node = element(
      "li", { "data-label": label, "data-p": "" }, part.mark, part.name,
      element("span", { class: "meter", "aria-hidden": "true" }, part.filled, part.error, part.before), part.number,
      element("span", { class: "state", role: "group", "aria-label": name }, part.states),
    );
    return part;
  }

  /** Show an answer; `before` are the marginals without fixed labels, or null while they are unknown. */
  show(answer, before, isNewRow) {
    this.#answer = answer;
    this.#before = before;
    this.#truth = answer.truth && new Set(answer.truth);
    this.node.classList.toggle("sampled", !answer.exact);
    this.items.forEach((part, label) => this.#draw(part, label));
    if (isNewRow) this.arrange();
    this.onOrder(this.#outOfDate());
  }

  #draw(part, label) {
    const p = this.#answer.marginals[label];
    const error = this.#answer.exact ? 0 : this.#answer.standard_error[label];
    const before = this.#before?.[label];
    const moved = before !== undefined && Math.abs(before - p) > 0.002;
    part.node.dataset.p = String(p);
    setText(part.number, error > 0 ? `${probability(p)} ± ${error.toFixed(3)}` : probability(p));
    part.number.title = `${p}${error > 0 ? ` ± ${error} (standard error), sampled` : ""}${moved ? `; ${probability(before)} with nothing fixed` : ""}`;
    part.filled.style.width = `${100 * p}%`;
    part.error.hidden = !(error > 0);
    part.error.style.left = `${100 * Math.max(0, p - 2 * error)}%`;
    part.error.style.right = `${100 * Math.max(0, 1 - p - 2 * error)}%`;
    part.before.hidden = !moved;
    part.before.style.left = `${100 * (before ?? 0)}%`;
    const isTrue = this.#truth?.has(label) ?? false;
    setText(part.mark, isTrue ? "◆" : "");
    part.mark.title = isTrue ? "in the true set" : "";
  }

  /** Press the buttons of the fixed labels; done at once, before the answer comes. */
  set fixed(fixed) {
    this.#fixed = fixed;
    this.items.forEach(({ node, states }, label) => {
      const state = fixed.has(label) ? (fixed.get(label) ? "present" : "absent") : "unknown";
      if (node.dataset.state === state) return;
      node.dataset.state = state;
      for (const control of states) control.setAttribute("aria-pressed", String(control.dataset.value === state));
    });
  }

  set filter(text) {
    this.#filter = text.trim().toLowerCase();
    this.arrange();
  }

  set sort(name) {
    this.#sort = name;
    this.arrange();
  }

  #sorted() {
    const p = this.#answer?.marginals;
    const labels = this.names.map((_, label) => label);
    if (this.#sort === "name") return labels.sort((a, b) => this.names[a].localeCompare(this.names[b], "en", { numeric: true }));
    if (this.#sort === "change" && p && this.#before) {
      const change = p.map((value, label) => Math.abs(value - this.#before[label]));
      return labels.sort((a, b) => change[b] - change[a] || p[b] - p[a]);
    }
    return p && this.#sort !== "number" ? labels.sort((a, b) => p[b] - p[a]) : labels;
  }

  #outOfDate() {
    const sorted = this.#sorted();
    return sorted.some((label, index) => label !== this.#order[index]);
  }

  /** Sort and filter. Answers alone do not move rows: what one is about to click stays where it is. */
  arrange() {
    this.#order = this.#sorted();
    const focused = this.node.contains(document.activeElement) ? document.activeElement : null;
    for (const label of this.#order) {
      const { node } = this.items[label];
      node.hidden = !this.names[label].toLowerCase().includes(this.#filter);
      this.node.append(node);
    }
    this.none.hidden = this.#visible().length > 0;
    this.node.append(this.none);
    if (focused) focused.focus({ preventScroll: true });
    this.#focusable();
    this.onOrder(false);
  }

  #visible() {
    return this.#order.filter((label) => !this.items[label].node.hidden);
  }

  #control({ label, control }) {
    return this.items[label].node.querySelector(`[data-control="${control}"]`);
  }

  /** One button of the list is in the order of the tab key; arrow keys lead to the others. */
  #focusable(next = this.#current) {
    const visible = this.#visible();
    this.#control(this.#current).tabIndex = -1;
    this.#current = visible.includes(next.label) || !visible.length ? next : { ...next, label: visible[0] };
    this.#control(this.#current).tabIndex = 0;
    return this.#control(this.#current);
  }

  #at(target) {
    const control = target.closest("[data-control]");
    if (!control) return null;
    return { label: Number(control.closest("[data-label]").dataset.label), control: control.dataset.control };
  }

  #click(event) {
    const at = this.#at(event.target);
    if (!at) return;
    this.#focusable(at);
    if (at.control === "name") this.onName(at.label);
    else this.#fix(at.label, at.control);
  }

  #fix(label, state) {
    const value = VALUES[state];
    if ((this.#fixed.get(label) ?? null) !== value) this.onFix(label, value);
  }

  #key(event) {
    const at = this.#at(event.target);
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in KEYS) {
      this.#fix(at.label, KEYS[event.key]);
    } else {
      const to = this.#step(at, event.key);
      if (!to) return;
      this.#focusable(to).focus();
    }
    event.preventDefault();
  }

  #step({ label, control }, key) {
    const visible = this.#visible();
    const last = visible.length - 1;
    const index = visible.indexOf(label);
    const rows = { ArrowUp: index - 1, ArrowDown: index + 1, PageUp: index - 10, PageDown: index + 10, Home: 0, End: last };
    if (key in rows) return { label: visible[Math.min(last, Math.max(0, rows[key]))], control };
    const column = CONTROLS.indexOf(control) + ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? NaN);
    return CONTROLS[column] ? { label, control: CONTROLS[column] } : null;
  }
}

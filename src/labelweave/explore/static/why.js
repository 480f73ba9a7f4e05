// Why one label: the log odds of its conditional as a sum of contributions.

import { Latest } from "./api.js";
import { diverging } from "./chips.js";
import { button, element, failure, fill, setText } from "./dom.js";
import { decimal, general, probability, signed } from "./format.js";
import { format } from "./route.js";

const SHOWN_NAMES = 6;

export class Why {
  #latest = new Latest();
  #asked = "";
  #marginals = null;

  constructor(names, onClose) {
    Object.assign(this, { names, onClose, label: null, fixed: "" });
    this.marginal = element("strong", { id: "why-marginal" });
    this.node = element("section", { class: "why", "aria-label": "Why this label", hidden: true });
  }

  /** The probabilities in the list of labels, which come with another answer. */
  set marginals(marginals) {
    this.#marginals = marginals;
    this.#drawMarginal();
  }

  #drawMarginal() {
    setText(this.marginal, probability(this.#marginals?.[this.label]));
  }

  /** Explain `label` for a row with fixed labels; a null label closes the panel. */
  async show(row, label, fixed) {
    const asked = label === null ? "" : `${row}/${label}/${fixed}`;
    if (asked === this.#asked) return;
    this.#asked = asked;
    Object.assign(this, { label, fixed });
    this.node.hidden = label === null;
    if (label === null) {
      this.#latest.cancel();
      fill(this.node);
      return;
    }
    this.node.classList.add("stale");
    try {
      const answer = await this.#latest.ask(`row/${row}/why`, { label, fixed });
      if (answer) this.#draw(answer);
    } catch (error) {
      fill(this.node, this.#head(label), failure(error));
    }
    this.node.classList.remove("stale");
    if (this.#asked === asked) this.node.scrollIntoView({ block: "nearest" });
  }

  #head(label) {
    return element("div", { class: "section-head" }, element("h2", {}, "Why ", element("em", {}, this.names[label]), "?"),
      element("a", { href: format({ view: "labels", id: label }) }, "about this label"),
      button("×", this.onClose, { "aria-label": "Close", title: "close", class: "plain" }));
  }

  #draw({ label, log_odds, probability: p, given, parts, rest }) {
    this.#drawMarginal();
    const largest = Math.max(...parts.map(({ contribution }) => Math.abs(contribution)), Math.abs(rest)) || 1;
    const rows = parts.map((part) => this.#row(this.#title(part), part.value, part.contribution, largest, part.kind));
    if (rest !== 0) rows.push(this.#row("all others", null, rest, largest, "rest"));
    fill(
      this.node,
      this.#head(label),
      this.#probabilities(p, log_odds, given),
      element("div", { class: "scroll contributions" }, element(
        "table", {},
        element("thead", {}, element("tr", {}, ["part", "contribution"].map((title) => element("th", { scope: "col" }, title)),
          element("td", { class: "bar-column" }))),
        element("tbody", {}, rows),
      )),
    );
  }

  /** The conditional probability that the parts explain, and below it the marginal that the list of labels shows. */
  #probabilities(p, logOdds, given) {
    const line = (number, ...text) => element("div", {}, element("dt", {}, number), element("dd", {}, text));
    const values = given.length ? [": ", this.#given(given), ", as in the most probable set"] : ", none of which matters here";
    const whatever = this.fixed ? "given the fixed labels only" : "whatever the other labels are";
    return element("dl", { class: "probabilities" },
      line(element("strong", { id: "why-conditional" }, probability(p)), element("strong", {}, "conditional"), " on the other labels", values,
        ". Log odds ", element("strong", {}, signed(logOdds)), ", the sum of the parts below."),
      line(this.marginal, element("strong", {}, "marginal"), `, ${whatever}, as in the list.`));
  }

  /** The values of the other labels that the conditional probability is for. */
  #given(given) {
    const present = given.filter(({ value }) => value).map((each) => this.names[each.label]);
    const named = present.slice(0, SHOWN_NAMES).join(", ") + (present.length > SHOWN_NAMES ? ` and ${present.length - SHOWN_NAMES} more` : "");
    const others = given.length - present.length;
    const absent = !others ? "" : named ? `${others} other${others === 1 ? "" : "s"} absent` : `${others} absent`;
    return [named && `${named} present`, absent].filter(Boolean).join(" and ");
  }

  #title({ kind, name }) {
    if (kind === "label" && typeof name === "number") return this.names[name];
    return kind === "base" ? "mean training row" : name;
  }

  #row(title, value, contribution, largest, kind) {
    const shown = kind === "label" ? (value ? "present" : "absent") : kind === "feature" ? `= ${general(value)}` : null;
    return element(
      "tr", { "data-kind": kind },
      element("th", { scope: "row" }, title, shown ? element("span", { class: kind === "label" ? "badge" : "muted" }, ` ${shown}`) : null),
      element("td", { title: decimal(contribution, 6) }, signed(contribution)),
      element("td", { class: "bar-column" }, diverging(contribution / largest)),
    );
  }
}

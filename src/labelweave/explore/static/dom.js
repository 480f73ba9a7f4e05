// Elements are built here and nowhere else. Children that are not nodes become text nodes and attributes are set by
// name, so that no name from a data set is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

function absent(value) {
  return value === null || value === undefined || value === false;
}

function build(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (absent(value)) continue;
    if (name === "on") {
      for (const [type, listener] of Object.entries(value)) node.addEventListener(type, listener);
    } else if (name === "style") {
      for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    } else {
      node.setAttribute(name, value === true ? "" : String(value));
    }
  }
  node.append(...children.flat(Infinity).filter((child) => !absent(child)));
  return node;
}

/** An HTML element; `properties.on` maps events to listeners, `properties.style` CSS properties to values. */
export function element(tag, properties = {}, ...children) {
  return build(document.createElement(tag), properties ?? {}, children);
}

/** The same for SVG. */
export function shape(tag, properties = {}, ...children) {
  return build(document.createElementNS(SVG, tag), properties ?? {}, children);
}

/** Put `children` in the place of what `node` holds. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => !absent(child)));
  return node;
}

/** Set the text of `node` if it differs: no work for the browser if nothing changed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function button(text, listener, properties = {}) {
  return element("button", { type: "button", on: { click: listener }, ...properties }, text);
}

/** A drop-down list of `[value, title]` pairs beside its name. */
export function select(title, options, value, listener, properties = {}) {
  const list = element(
    "select",
    { on: { change: () => listener(list.value) }, ...properties },
    options.map(([key, text]) => element("option", { value: key, selected: String(key) === String(value) }, text)),
  );
  return element("label", { class: "field" }, element("span", {}, title), list);
}

/** Buttons of which one is pressed: a choice among few. */
export function choice(title, options, value, listener, properties = {}) {
  const buttons = options.map(([key, text]) =>
    button(text, () => listener(key), { "aria-pressed": String(key === value), "data-choice": key }),
  );
  return element("div", { class: "choice", role: "group", "aria-label": title, ...properties }, buttons);
}

/** A sentence about what went wrong, where the answer would have been. */
export function failure(error, ...more) {
  const text = error.message.charAt(0).toUpperCase() + error.message.slice(1);
  return element("p", { class: "failure", role: "alert" }, /[.!?]$/.test(text) ? text : `${text}.`, more.length ? " " : null, more);
}

// Boxes say in an attribute whether there is more at their right; style sheets fade these out there.
const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => markMore(target)));

function markMore(box) {
  box.toggleAttribute("data-more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
}

/** A scrollable box that the keyboard can reach. */
export function scrollable(title, properties, ...children) {
  const box = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title, on: { scroll: () => markMore(box) }, ...properties }, children);
  resized.observe(box);
  return box;
}

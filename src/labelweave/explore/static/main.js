// Start, navigation and progress. The address after "#" says what is shown; views are drawn from it.

import { get } from "./api.js";
import { AskView } from "./ask.js";
import { button, element, failure, fill, setText } from "./dom.js";
import { percent } from "./format.js";
import { LabelView } from "./label.js";
import { LabelsView } from "./labels.js";
import { ModelView } from "./model.js";
import { format, parse } from "./route.js";
import { RowsView } from "./rows.js";

const VIEWS = { rows: RowsView, ask: AskView, labels: LabelsView, label: LabelView, model: ModelView };
const TABS = [["rows", "Rows"], ["ask", "Ask"], ["labels", "Labels"], ["model", "Model"]];
// Answers about all rows are asked for anew when this much more of them has been computed.
const STEP = 0.1;

const byId = (id) => document.getElementById(id);
const main = byId("main");
const lastAddress = new Map();
let summary = null;
let shown = { name: null, address: null, view: null };
let refreshedAt = 0;

function viewName({ view, id }) {
  if (view === "labels" && id !== null) return "label";
  return view in VIEWS ? view : "rows";
}

/** Draw what the address says; `popped` if the reader went back or forth in the history. */
function show(popped = false) {
  const address = location.hash || "#/rows";
  if (address === shown.address || summary === null) return;
  const route = { ...parse(address), popped };
  const name = viewName(route);
  const isNew = name !== shown.name;
  if (isNew) {
    shown.view?.destroy();
    const root = element("div", { class: "view", "data-view": name });
    fill(main, root);
    if (!popped) scrollTo(0, 0);
    shown = { name, address, view: new VIEWS[name](root, { summary, navigate }, route) };
    if (popped !== null) root.querySelector("h1")?.focus({ preventScroll: true });
  } else {
    shown.address = address;
    shown.view.update(route);
  }
  lastAddress.set(route.view in VIEWS ? route.view : "rows", address);
  document.title = `${shown.view.title} · ${summary.data} · labelweave`;
  drawTabs(name === "label" ? "labels" : name);
}

/** Go to `{view, id, query}`; the view is drawn before this returns. */
function navigate(route, { replace = false } = {}) {
  const address = format(route);
  if (address === shown.address) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  show();
}

function drawTabs(current) {
  fill(byId("views"), TABS.map(([name, title]) => {
    const address = name === "labels" && current === "labels" ? "#/labels" : lastAddress.get(name) ?? format({ view: name, id: name === "ask" ? 0 : null });
    return element("a", { href: address, "aria-current": name === current ? "page" : null }, title);
  }));
}

/** Links within the page are followed without the detour of an event, so that the page is never idle in between. */
function follow(event) {
  const address = event.target.closest?.("a[href^='#/']")?.getAttribute("href");
  if (!address || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  navigate(parse(address));
}

async function copyLink() {
  const toast = byId("toast");
  try {
    await navigator.clipboard.writeText(location.href);
    fill(toast, "Link copied. It works while the explorer runs.");
  } catch {
    const field = element("input", { type: "text", readonly: true, value: location.href, "aria-label": "Link" });
    fill(toast, field);
    field.select();
  }
  toast.classList.add("shown");
  clearTimeout(copyLink.timer);
  copyLink.timer = setTimeout(() => toast.classList.remove("shown"), 4000);
}

function drawProgress(ready, failure = "") {
  const box = byId("progress");
  box.hidden = ready >= 1;
  box.querySelector("progress").value = ready;
  setText(byId("progress-text"), failure ? `no answers for ${failure}` : `answers computed for ${percent(ready)} of the rows`);
}

/** Ask every second how far the server is, until all answers are computed. */
async function watch() {
  try {
    const { ready, failure } = await get("summary");
    summary.ready = ready;
    drawProgress(ready, failure);
    if (failure) return;
    if (shown.name === "rows" || ((ready >= 1 || ready - refreshedAt >= STEP) && shown.name !== "ask")) {
      refreshedAt = ready;
      shown.view.refresh();
    }
    if (ready < 1) setTimeout(watch, 1000);
  } catch (error) {
    fill(byId("progress-text"), error.message, " ", button("Try again", watch));
  }
}

async function start() {
  try {
    summary = await get("summary");
  } catch (error) {
    fill(main, failure(error, button("Try again", start)));
    return;
  }
  fill(byId("subject"), element("b", {}, summary.data), " · ", summary.model);
  byId("subject").title = `${summary.data} · ${summary.settings}`;
  drawProgress(summary.ready);
  refreshedAt = summary.ready;
  if (summary.ready < 1) setTimeout(watch, 1000);
  show(null);
}

document.addEventListener("click", follow);
addEventListener("popstate", () => show(true));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
byId("copy-link").addEventListener("click", copyLink);
start();

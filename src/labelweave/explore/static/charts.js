// Charts on the unit square: reliability and curves of shares.

import { element, scrollable, shape } from "./dom.js";
import { decimal, integer, probability } from "./format.js";

const WIDTH = 380;
const HEIGHT = 320;
const MARGIN = { left: 44, right: 12, top: 10, bottom: 40 };
const TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1];

export const x = (value) => MARGIN.left + value * (WIDTH - MARGIN.left - MARGIN.right);
export const y = (value) => HEIGHT - MARGIN.bottom - value * (HEIGHT - MARGIN.top - MARGIN.bottom);

/** Axes and grid; shapes are added to what is returned. */
function frame(title, xTitle, yTitle) {
  const grid = TICKS.flatMap((tick) => [
    shape("line", { class: "grid", x1: x(0), x2: x(1), y1: y(tick), y2: y(tick) }),
    shape("line", { class: "grid", x1: x(tick), x2: x(tick), y1: y(0), y2: y(1) }),
    shape("text", { x: x(0) - 7, y: y(tick) + 4, "text-anchor": "end" }, decimal(tick, 1)),
    shape("text", { x: x(tick), y: y(0) + 17, "text-anchor": "middle" }, decimal(tick, 1)),
  ]);
  return shape(
    "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "chart" }, shape("title", {}, title), grid,
    shape("text", { class: "label", x: x(0.5), y: HEIGHT - 6, "text-anchor": "middle" }, xTitle),
    shape("text", { class: "label", x: 0, y: 0, "text-anchor": "middle", transform: `translate(12 ${y(0.5)}) rotate(-90)` }, yTitle),
  );
}

/** A table of the numbers of a chart, for those who would rather read them. */
export function numbers(columns, rows) {
  return element(
    "details", {}, element("summary", {}, "numbers"),
    scrollable("Numbers", { class: "scroll short" }, element(
      "table", {},
      element("thead", {}, element("tr", {}, columns.map((title) => element("th", { scope: "col" }, title)))),
      element("tbody", {}, rows.map(([first, ...others]) => element("tr", {}, element("th", { scope: "row" }, first),
        others.map((text) => element("td", {}, text))))),
    )),
  );
}

/** Observed rates against predictions, with intervals; the area of a point grows with the number behind it. */
export function reliability(title, bins, { xTitle = "predicted probability", yTitle = "observed rate", unit = "predictions" } = {}) {
  const chart = frame(title, xTitle, yTitle);
  const most = Math.max(...bins.map(({ n }) => n), 1);
  chart.append(shape("line", { class: "lead dashed", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
  for (const { p, rate, n, low, high } of bins) {
    const text = `${unit} around ${probability(p)}: ${integer(n)}; observed ${probability(rate)}, 95 % interval ${probability(low)} to ${probability(high)}`;
    chart.append(shape(
      "g", { class: "series-0" }, shape("title", {}, text),
      shape("line", { class: "error", x1: x(p), x2: x(p), y1: y(low), y2: y(high) }),
      shape("circle", { class: "marker", cx: x(p), cy: y(rate), r: 2.5 + 4.5 * Math.sqrt(n / most) }),
    ));
  }
  const rows = bins.map(({ p, rate, n, low, high }) => [probability(p), probability(rate), `${probability(low)} to ${probability(high)}`, integer(n)]);
  return element("figure", {}, element("figcaption", {}, title), chart, numbers(["predicted", "observed", "95 % interval", "number"], rows));
}

function path(points) {
  let pen = "M";
  return points.map(([u, v]) => {
    if (v === null || v === undefined) {
      pen = "M";
      return "";
    }
    const step = `${pen}${x(u).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = "L";
    return step;
  }).join("");
}

/** Curves `{title, points: [[x, y or null]]}`, told apart by colour and by dashes. */
export function curves(title, series, { xTitle, yTitle }) {
  const chart = frame(title, xTitle, yTitle);
  series.forEach(({ title: name, points }, index) => {
    chart.append(shape("path", { class: `line series-${index} dash-${index}`, d: path(points) }, shape("title", {}, name)));
  });
  const keys = series.map(({ title: name }, index) => element(
    "li", {},
    shape("svg", { class: "swatch", viewBox: "0 0 34 10", "aria-hidden": "true" }, shape("line", { class: `line series-${index} dash-${index}`, x1: 0, x2: 34, y1: 5, y2: 5 })),
    name,
  ));
  const rows = series[0].points.map(([u], index) => [decimal(u, 2), ...series.map(({ points }) => decimal(points[index][1]))]);
  const figure = element("figure", {}, element("figcaption", {}, title), chart, element("ul", { class: "legend" }, keys),
    numbers([xTitle, ...series.map(({ title: name }) => name)], rows));
  return { figure, chart };
}

/** An upright line across a chart that can be moved. */
export function cursor(chart) {
  const line = shape("line", { class: "cursor", y1: y(0), y2: y(1) });
  chart.append(line);
  return (value) => {
    line.setAttribute("x1", x(value));
    line.setAttribute("x2", x(value));
  };
}

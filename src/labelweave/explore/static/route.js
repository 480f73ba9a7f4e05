// What is shown is written in the address after "#", so that every view is a link:
//   #/rows?order=entropy&descending=1   #/ask/12?fixed=3:1,5:0&decision=f1   #/labels/3?threshold=0.4   #/model

/** Read `{view, id, query}`; `id` is the number of a row or label, or null. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", id = ""] = path.split("/");
  return {
    view: view || "rows",
    id: /^\d+$/.test(id) ? Number(id) : null,
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** Write `{view, id, query}`, leaving out what is empty. */
export function format({ view, id = null, query = {} }) {
  const readable = (text) => encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%2C", ",");
  const parts = Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
    .map(([name, value]) => `${name}=${readable(value === true ? "1" : String(value))}`);
  return `#/${view}${id === null ? "" : `/${id}`}${parts.length ? `?${parts.join("&")}` : ""}`;
}

/** Fixed labels `3:1,5:0` as a map from label to 1 or 0, in the order in which they were fixed. */
export function parseFixed(text = "") {
  const pairs = text.matchAll(/(?:^|,)(\d+):([01])(?=,|$)/g);
  return new Map([...pairs].map(([, label, value]) => [Number(label), Number(value)]));
}

export function formatFixed(fixed) {
  return [...fixed].map(([label, value]) => `${label}:${value}`).join(",");
}

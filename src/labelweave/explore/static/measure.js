// How wide a text is, so that drawings can leave room for it.

const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', sans-serif";
const canvas = document.createElement("canvas").getContext("2d");

/** The text as far as it fits into `room` pixels, and its width. */
export function fitted(text, room, size = 12.5) {
  canvas.font = `${size}px ${FAMILY}`;
  const width = (part) => canvas.measureText(part).width;
  if (width(text) <= room) return { text, width: width(text) };
  let length = Math.min(text.length - 1, Math.ceil(room / 3));
  while (length > 1 && width(`${text.slice(0, length)}…`) > room) length -= 1;
  const short = `${text.slice(0, length).trimEnd()}…`;
  return { text: short, width: width(short) };
}

// Labels that do not fit on their line are hidden and counted.

import { element } from "./dom.js";

// Room for “+99” and the gap before it, in pixels; style sheets leave it beside the widest chip.
const MORE_WIDTH = 44;

const isMore = (chip) => chip.classList.contains("more");

/** How many chips are shown, given the right edge of each: all, or those that leave room for the count. */
function countShown({ room, edges }) {
  if (!edges.length || edges.at(-1) <= room) return edges.length;
  return Math.max(1, edges.filter((edge) => edge + MORE_WIDTH <= room).length);
}

function countHidden(hidden) {
  const names = hidden.map((chip) => chip.title || chip.textContent).join(", ");
  return element("span", { class: "chip more", title: names, "aria-label": `${hidden.length} more: ${names}`, role: "img" }, `+${hidden.length}`);
}

/** Hide the chips of each cell that do not fit on its line, and say how many there are. All cells are measured at once. */
export function fitChips(cells) {
  for (const cell of cells) {
    for (const chip of [...cell.children]) {
      chip.hidden = false;
      if (isMore(chip)) chip.remove();
    }
  }
  const sizes = cells.map((cell) => ({ room: cell.clientWidth, edges: [...cell.children].map((chip) => chip.offsetLeft + chip.offsetWidth - cell.offsetLeft) }));
  cells.forEach((cell, index) => {
    const hidden = [...cell.children].slice(countShown(sizes[index]));
    for (const chip of hidden) chip.hidden = true;
    if (hidden.length) cell.append(countHidden(hidden));
  });
}

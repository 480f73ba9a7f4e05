// What does not fit: labels are counted, and boxes that scroll sideways fade out.

import { element } from "./dom.js";

const isMore = (chip) => chip.classList.contains("more");

/** How many chips are shown in a cell, given the right edge of each: all, or those that leave room for the count. */
function countShown({ room, edges }, moreWidth) {
  if (!edges.length || edges.at(-1) <= room) return edges.length;
  return Math.max(1, edges.filter((edge) => edge + moreWidth <= room).length);
}

function countHidden(hidden) {
  const names = hidden.map((chip) => chip.title || chip.textContent).join(", ");
  return element("span", { class: "chip more", title: names, "aria-label": `${hidden.length} more: ${names}`, role: "img" }, `+${hidden.length}`);
}

// Room for “+99” and the gap before it, in pixels.
const MORE_WIDTH = 44;

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
    const hidden = [...cell.children].slice(countShown(sizes[index], MORE_WIDTH));
    for (const chip of hidden) chip.hidden = true;
    if (hidden.length) cell.append(countHidden(hidden));
  });
}

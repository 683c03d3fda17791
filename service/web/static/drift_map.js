// Arrow keys move between the cells of the drift map. Otherwise, the tab key would have to stop at a hundred cells.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function prepare(map) {
  const cells = [...map.querySelectorAll("a[data-cell]")];
  const middle = (cell) => {
    const box = cell.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const choose = (chosen) => cells.forEach((cell) => cell.setAttribute("tabindex", cell === chosen ? 0 : -1));
  // The nearest cell in that direction. A sideways distance counts four times.
  const findNext = (from, [right, down]) => {
    const [x, y] = middle(from);
    let next = null, nearest = Infinity;
    for (const cell of cells) {
      const [dx, dy] = [middle(cell)[0] - x, middle(cell)[1] - y];
      const [along, aside] = right ? [dx * right, Math.abs(dy)] : [dy * down, Math.abs(dx)];
      if (along > 1 && along + 4 * aside < nearest) [next, nearest] = [cell, along + 4 * aside];
    }
    return next;
  };
  choose(cells[0]);
  map.addEventListener("keydown", (event) => {
    const cell = event.target.closest("a[data-cell]");
    const next = cell && ARROWS[event.key] && findNext(cell, ARROWS[event.key]);
    if (!next) return;
    event.preventDefault();
    choose(next);
    next.focus();
  });
}

// A page that brings itself up to date gets a new map.
const prepareAll = (root) => root.querySelectorAll(".map").forEach(prepare);
document.addEventListener("htmx:afterSwap", ({ detail }) => prepareAll(detail.elt));
prepareAll(document);

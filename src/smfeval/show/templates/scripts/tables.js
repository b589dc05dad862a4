// Tables that sort by a click on the arrow in their heading, filter by a word, and fit their box.

const FEWEST_ROWS = { sort: 2, filter: 12 };

function enliven(table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length >= FEWEST_ROWS.sort) {
    [...table.tHead.rows[0].cells].forEach((head, column) => addSort(table, head, column));
  }
  if (rows.length >= FEWEST_ROWS.filter) addFilter(table, rows);
}

function addSort(table, head, column) {
  if (!head.textContent.trim()) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sort";
  button.textContent = "↕";
  button.setAttribute("aria-label", `sort by ${head.textContent}`);
  const held = document.createElement("span"); // never alone on a line
  held.className = "held";
  held.append("\u00a0", button);
  head.append(held);
  button.addEventListener("click", () => {
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) {
      other.removeAttribute("aria-sort");
      const arrow = other.querySelector(".sort");
      if (arrow) arrow.textContent = "↕";
    }
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    button.textContent = falling ? "↓" : "↑";
    const rows = [...table.tBodies[0].rows].sort(byColumn(column, falling ? -1 : 1));
    table.tBodies[0].append(...rows);
  });
}

/** Numbers by size, words by the alphabet; what has no value comes last either way. */
function byColumn(column, sign) {
  return (one, other) => {
    const [a, b] = [keyOf(one.cells[column]), keyOf(other.cells[column])];
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b || 0);
    return sign * String(a).localeCompare(String(b), "en", { numeric: true });
  };
}

function keyOf(cell) {
  const told = cell.dataset.sort ?? cell.textContent.trim();
  if (told === "" || told === "-") return null;
  return Number.isNaN(Number(told)) ? told : Number(told);
}

function addFilter(table, rows) {
  const field = document.createElement("input");
  field.type = "search";
  field.className = "filter";
  field.placeholder = "Filter rows";
  field.setAttribute("aria-label", "filter rows");
  (table.closest(".scroll") ?? table).before(field);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

/** Stacks the cells of a table, each below its heading, where its box is too narrow for it. */
function fitTable(table) {
  const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, n) => { cell.dataset.of = headings[n] ?? ""; });
  }
  const box = table.parentElement;
  let needed = 0; // pixels; known once it was too wide
  const fit = () => {
    if (!table.classList.contains("stacked")) needed = table.offsetWidth;
    table.classList.toggle("stacked", needed > box.clientWidth + 1);
  };
  new ResizeObserver(fit).observe(box);
}

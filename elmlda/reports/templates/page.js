"use strict";
// A column's button sorts its table: ascending, then descending. Equal rows keep their order.
for (const button of document.querySelectorAll("table.sortable thead button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const column = [...head.parentElement.children].indexOf(head);
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.children[column];
      return cell.dataset.sort ?? cell.textContent.trim().replace("−", "-");
    };
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === ""); // blanks last
      const [p, q] = [parseFloat(x), parseFloat(y)];
      const order = isNaN(p) || isNaN(q) ? x.localeCompare(y) : p - q;
      return descending ? -order : order;
    };
    const body = head.closest("table").tBodies[0];
    body.append(...[...body.rows].sort(compare));
  });
}
// What is folded away is printed too.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
});

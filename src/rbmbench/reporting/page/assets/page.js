"use strict";
// Tables that can be sorted, buttons that copy commands, and the start of everything.

function startTables() {
  const number = (text) => parseFloat(text.replace(/[\s\u00a0]/g, ""));
  const key = (row, place) => row.cells[place].firstChild?.textContent.trim() ?? "";
  const before = (a, b) => {
    const [x, y] = [number(a), number(b)];
    return isNaN(x) || isNaN(y) ? (isNaN(x) - isNaN(y)) || a.localeCompare(b) : x - y;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const sort = () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => sign * before(key(a, place), key(b, place))));
      };
      head.replaceChildren(element("button", { type: "button", onclick: sort }, ...head.childNodes));
    });
  }
}

function startCopying() {
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentNode.querySelector("code");
      getSelection().selectAllChildren(code); // left selected where the browser does not let a page copy
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "copied";
      } catch {
        button.textContent = "press Ctrl+C";
      }
    });
  }
}

// Show figures of all scales or of one.
function startScales() {
  const names = REPORT.results.map(({ name }) => name);
  if (names.length < 2) return;
  const choose = (name) => {
    for (const part of document.querySelectorAll("[data-scale]")) part.hidden = name !== "" && part.dataset.scale !== name;
  };
  const select = element("select", { onchange: () => choose(select.value) }, element("option", { value: "" }, "all scales"), ...names.map((name) => element("option", { value: name }, name)));
  document.querySelector(".contents").prepend(element("label", {}, "Show ", select));
}

startScales();
startCharts();
startTables();
startCopying();
startExplorer();

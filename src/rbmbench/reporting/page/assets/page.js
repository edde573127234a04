// SPDX-License-Identifier: BSD-3-Clause
"use strict";
// The claims, tables that can be sorted, buttons that copy commands, and the start of everything.

// Search, filter and sort the claims, the first AT_ONCE rows of which are displayed. The state is in the address:
// #claims?paper=popcd&verdict=reproduced

const AT_ONCE = 50;
let CLAIMS = [];
const FACETS = ["scale", "paper", "figure", "verdict", "class"];
const ORDER = { verdict: (claim) => claim.verdict, measured: (claim) => claim.measured ?? Infinity, width: (claim) => (claim.low == null ? Infinity : claim.high - claim.low || 0), claim: (claim) => claim.claim };

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // no address of this page
  }
}

function startExplorer() {
  const form = document.querySelector(".filters");
  const body = document.querySelector("table.claims tbody");
  const rows = [...body.rows];
  const NAMES = Object.fromEntries(REPORT.papers.flatMap(({ key, title, shown }) => [[key, title || key], ...Object.entries(shown)]));
  CLAIMS.forEach((claim, place) => rows[place].cells[1].querySelector("small").append(" ", element("a", { href: `#${rows[place].id}` }, element("code", {}, claim.claim))));
  const words = CLAIMS.map((claim, place) => rows[place].textContent.toLowerCase());
  const button = document.getElementById("more");
  let chosen = CLAIMS;
  let limit = AT_ONCE;
  form.hidden = false;
  for (const name of FACETS) {
    const counts = new Map();
    for (const claim of CLAIMS) if (claim[name]) counts.set(claim[name], (counts.get(claim[name]) ?? 0) + 1);
    form.elements[name].append(...[...counts].map(([value, count]) => element("option", { value }, `${NAMES[value] ?? value} (${count})`)));
  }

  function apply() {
    const query = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (claim, place) => FACETS.every((name) => !form.elements[name].value || claim[name] === form.elements[name].value) && query.every((word) => words[place].includes(word));
    const kept = CLAIMS.map(fits);
    rows.forEach((row, place) => (row.hidden = !kept[place]));
    const key = ORDER[form.elements.sort.value];
    const places = [...CLAIMS.keys()];
    if (key) places.sort((a, b) => (key(CLAIMS[a]) < key(CLAIMS[b]) ? -1 : key(CLAIMS[a]) > key(CLAIMS[b]) ? 1 : a - b));
    body.append(...places.map((place) => rows[place]));
    const fitting = places.filter((place) => kept[place]);
    fitting.forEach((place, rank) => rows[place].classList.toggle("later", rank >= limit));
    button.hidden = fitting.length <= limit;
    button.textContent = `Show ${Math.min(AT_ONCE, fitting.length - limit)} more of ${fitting.length} claims`;
    chosen = fitting.map((place) => CLAIMS[place]);
    form.querySelector("output").value = `${chosen.length} of ${CLAIMS.length} claims`;
  }

  function clear() {
    for (const name of ["q", "sort", ...FACETS]) form.elements[name].value = "";
  }

  function filter() {
    limit = AT_ONCE;
    apply();
    remember();
  }

  function remember() {
    const state = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", String(state) ? `#claims?${state}` : "#claims");
  }

  // Restore the state in the address, or show its claim or figure.
  function follow() {
    const hash = location.hash.slice(1);
    if (hash.startsWith("claims")) document.querySelector("#claims details").open = true;
    if (hash.startsWith("claims?")) {
      clear();
      for (const [name, value] of new URLSearchParams(hash.slice(7))) if (form.elements[name]) form.elements[name].value = value;
      apply();
      document.getElementById("claims").scrollIntoView();
      return;
    }
    const [place, query] = hash.split("?");
    const target = place && document.getElementById(decoded(place));
    if (!target) return;
    if (target.matches("tr.later, tr[hidden]")) {
      limit = Infinity;
      if (target.hidden) clear();
      apply();
    }
    for (let node = target; node; node = node.parentElement.closest("details")) if (node.matches("details")) node.open = true;
    target.scrollIntoView();
    const state = new URLSearchParams(query ?? "");
    const claim = state.get("claim");
    sliders.get(target)?.(state.get("iteration"));
    const card = cards.find(({ article }) => article === target);
    if (claim) pointAt(target, claim);
    else if (card?.pointed) point(card, null);
  }

  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  button.addEventListener("click", () => { limit += AT_ONCE; apply(); });
  document.getElementById("download").addEventListener("click", () => {
    const own = Object.keys(REPORT.results.flatMap(({ claims }) => claims)[0] ?? {});
    const names = ["scale", ...own.filter((name) => name !== "marks")];
    save(csv([names, ...chosen.map((claim) => names.map((name) => claim[name]))]), "claims.csv");
  });
  body.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-marked]");
    if (!link) return;
    event.preventDefault();
    const row = link.closest("tr").id;
    location.hash = addressOf(link.getAttribute("href").slice(1), row.slice(row.indexOf("/") + 1));
  });
  addEventListener("hashchange", follow);
  apply();
  follow();
}

// Copy the strips of claims to their findings and figures.
function startStrips() {
  for (const item of document.querySelectorAll("ul[data-results] li")) {
    const row = `${item.parentNode.dataset.results}/${item.dataset.claim ?? item.dataset.row}`;
    const strip = document.getElementById(row)?.querySelector(".strip");
    if (strip) item.append(" ", strip.cloneNode(true));
  }
}

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
      getSelection().selectAllChildren(code); // remains selected if the browser does not allow copying
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "copied";
      } catch {
        button.textContent = "press Ctrl+C";
      }
    });
  }
}

async function start() {
  await readReport();
  CLAIMS = REPORT.results.flatMap((results) => results.claims.map((claim) => ({ ...claim, scale: results.name, class: claim.standing, figure: claim.shown })));
  startCharts();
  startSnapshots();
  startStrips();
  startTables();
  startCopying();
  startExplorer();
  performance.mark("usable");
}

// Browsers without DecompressionStream show the page without scripts.
if ("DecompressionStream" in window) start();

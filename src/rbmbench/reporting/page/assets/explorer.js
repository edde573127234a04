"use strict";
// Search, filter and sort the claims. The state is in the address: #claims?paper=popcd&verdict=reproduced

const CLAIMS = REPORT.results.flatMap((results) => results.claims.map((claim) => ({ ...claim, scale: results.name, class: claim.standing, figure: claim.shown })));
const FACETS = ["scale", "paper", "figure", "verdict", "class"];
const ORDER = { verdict: (claim) => claim.verdict, measured: (claim) => claim.measured ?? Infinity, width: (claim) => (claim.low == null || claim.high == null ? Infinity : claim.high - claim.low), claim: (claim) => claim.claim };

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
  const words = CLAIMS.map((claim, place) => rows[place].textContent.toLowerCase());
  let chosen = CLAIMS;
  form.hidden = false;
  for (const name of FACETS) {
    const counts = new Map();
    for (const claim of CLAIMS) if (claim[name]) counts.set(claim[name], (counts.get(claim[name]) ?? 0) + 1);
    form.elements[name].append(...[...counts].map(([value, count]) => element("option", { value }, `${value} (${count})`)));
  }

  function apply() {
    const asked = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (claim, place) => FACETS.every((name) => !form.elements[name].value || claim[name] === form.elements[name].value) && asked.every((word) => words[place].includes(word));
    const kept = CLAIMS.map(fits);
    rows.forEach((row, place) => (row.hidden = !kept[place]));
    const key = ORDER[form.elements.sort.value];
    const places = [...CLAIMS.keys()];
    if (key) places.sort((a, b) => (key(CLAIMS[a]) < key(CLAIMS[b]) ? -1 : key(CLAIMS[a]) > key(CLAIMS[b]) ? 1 : a - b));
    body.append(...places.map((place) => rows[place]));
    chosen = places.filter((place) => kept[place]).map((place) => CLAIMS[place]);
    form.querySelector("output").value = `${chosen.length} of ${CLAIMS.length} claims`;
  }

  function remember() {
    const state = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    history.replaceState(null, "", String(state) ? `#claims?${state}` : "#claims");
  }

  // Restore what the address says, or show the claim or the figure that it names.
  function follow() {
    const hash = location.hash.slice(1);
    if (hash.startsWith("claims?")) {
      form.reset();
      for (const [name, value] of new URLSearchParams(hash.slice(7))) if (form.elements[name]) form.elements[name].value = value;
      apply();
      document.getElementById("claims").scrollIntoView();
      return;
    }
    const target = hash && document.getElementById(decoded(hash));
    if (!target) return;
    if (target.hidden) {
      form.reset();
      apply();
    }
    target.closest("details")?.setAttribute("open", "");
    target.scrollIntoView();
  }

  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { apply(); remember(); }));
  document.getElementById("download").addEventListener("click", () => {
    const names = ["scale", ...Object.keys(REPORT.results[0].claims[0] ?? {})];
    save(csv([names, ...chosen.map((claim) => names.map((name) => claim[name]))]), "claims.csv");
  });
  addEventListener("hashchange", follow);
  apply();
  follow();
}

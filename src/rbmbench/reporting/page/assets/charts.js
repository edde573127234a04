"use strict";
// Interactive curves, drawn by uPlot from the page's block of data when their figure comes into view.

const REPORT = JSON.parse(document.getElementById("data").textContent);
const DARK = matchMedia("(prefers-color-scheme: dark)");
const START = 0.1; // share of the iterations, their climb, that the range of log-likelihoods need not show
const hidden = new Set(); // algorithms that are hidden on the whole page
const cards = []; // figures that have been drawn

// Return a new element with attributes and children; strings become text, never HTML.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function colourOf(key) {
  const { colour } = REPORT.looks[key];
  return colour === "#000000" ? ink("--ink") : colour;
}

// Save text as a file, without asking any server.
function save(text, name, type = "text/csv") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function csv(lines) {
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return lines.map((line) => line.map((cell) => quoted(String(cell ?? ""))).join(",") + "\n").join("");
}

const short = (value) => (value == null ? "" : String(Number(value.toPrecision(5))));

// Return the columns that uPlot draws: x, then low, high and mean of each curve; a logarithmic axis has no number <= 0.
function columns(panel, shown) {
  const places = [...panel.x.keys()].filter((place) => !shown.logX || panel.x[place] > 0);
  const factor = shown.sum && panel.rows ? panel.rows : 1;
  const chosen = (values) =>
    places.map((place) => {
      const value = values[place] == null ? null : values[place] * factor;
      return value != null && shown.logY && value <= 0 ? null : value;
    });
  const curves = panel.series.flatMap(({ low, high, mean }) => [low, high, mean].map((values) => chosen(values)));
  return [places.map((place) => panel.x[place]), ...curves];
}

// The part of the climb at the start is left out of the range of log-likelihoods while all iterations are shown.
function verticalRange(panel, shown) {
  return (u, least, most) => {
    if (least == null) return [shown.logY ? 0.1 : 0, 1];
    if (shown.logY) return [least / 1.15, most * 1.15];
    const x = u.data[0];
    const whole = u.scales.x.min <= x[0] && u.scales.x.max >= x[x.length - 1];
    if (panel.y_title.includes("log-likelihood") && whole && !shown.logX) {
      const first = x.findIndex((at) => at >= x[0] + START * (x[x.length - 1] - x[0]));
      const values = u.data.slice(1).flatMap((column, place) => (u.series[place + 1].show ? column.slice(first) : []));
      const known = values.filter((value) => value != null);
      if (known.length) least = Math.max(least, Math.min(...known));
    }
    return uPlot.rangeNum(least, most, 0.06, true);
  };
}

// A panel's second and third metric have a dash pattern in place of their algorithm's own.
const FURTHER = [null, [7, 3], [2, 3]];
const metricsOf = (panel) => [...new Set(panel.series.map(({ metric }) => metric))];

function metricWords(panel) {
  const metrics = metricsOf(panel);
  return metrics.length > 1 ? ` (${metrics.slice(1).map((name, place) => `${["dashed", "dotted"][place]}: ${name}`).join(", ")})` : "";
}

function seriesOptions(panel) {
  return panel.series.flatMap((one) => {
    const look = REPORT.looks[one.key];
    const metric = metricsOf(panel).indexOf(one.metric);
    const dash = metric > 0 ? FURTHER[metric] : look.dash;
    const edge = { show: !hidden.has(one.key), stroke: "transparent", width: 0, points: { show: false }, spanGaps: true };
    const mean = { ...edge, label: one.label, stroke: () => colourOf(one.key), width: look.width, dash };
    return [edge, edge, { ...mean, points: { show: panel.x.length < 25, size: 5 } }];
  });
}

function bandOptions(panel) {
  return panel.series.flatMap((one, place) =>
    one.low.length ? [{ series: [3 * place + 2, 3 * place + 1], fill: () => colourOf(one.key) + (colourOf(one.key).length === 7 ? "2b" : "") }] : [],
  );
}

// Write at the cursor what the curves are there: mean, band and number of trials.
function tell(u, panel, tip) {
  const place = u.cursor.idx;
  if (place == null || !u.over.parentNode.classList.contains("active")) {
    tip.hidden = true;
    return;
  }
  const curves = panel.series.map((one, number) => ({ one, low: u.data[3 * number + 1][place], high: u.data[3 * number + 2][place], mean: u.data[3 * number + 3][place] }));
  const shown = curves.filter(({ one, mean }) => mean != null && !hidden.has(one.key)).sort((a, b) => b.mean - a.mean);
  const lines = shown.map(({ one, low, high, mean }) => {
    const band = low == null ? "" : ` (${short(low)} to ${short(high)})`;
    const name = element("span", { style: `color: ${colourOf(one.key)}` }, "■ ");
    return element("div", {}, name, `${one.label}${one.metric ? ", " + one.metric : ""}: ${short(mean)}${band}${one.trials > 1 ? `, ${one.trials} trials` : ""}`);
  });
  tip.replaceChildren(element("b", {}, `${panel.x_title} ${short(u.data[0][place])}`), ...lines);
  tip.hidden = false;
  const right = u.cursor.left > u.over.clientWidth / 2;
  tip.style.left = right ? "" : `${u.over.offsetLeft + u.cursor.left + 14}px`;
  tip.style.right = right ? `${u.root.clientWidth - u.over.offsetLeft - u.cursor.left + 14}px` : "";
  tip.style.top = `${u.over.offsetTop + 6}px`;
}

// Powers of ten, at most some seven of them; also twice and five times a power where there are few.
function logTicks(least, most) {
  const [first, last] = [Math.ceil(Math.log10(least) - 1e-9), Math.floor(Math.log10(most) + 1e-9)];
  const ticks = [];
  if (last - first < 2) {
    for (let power = first - 1; power <= last; power++) for (const factor of [1, 2, 5]) ticks.push(factor * 10 ** power);
    return ticks.filter((tick) => tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9));
  }
  const step = Math.max(1, Math.ceil((last - first) / 6));
  for (let power = first; power <= last; power += step) ticks.push(10 ** power);
  return ticks;
}

function tickText(value) {
  if (value == null) return null;
  const rounded = Number(value.toPrecision(6));
  return Math.abs(rounded) >= 1e6 || (rounded && Math.abs(rounded) < 1e-3) ? rounded.toExponential().replace("e+", "e") : short(rounded);
}

function axis(logarithmic) {
  const colours = { stroke: () => ink("--ink"), grid: { stroke: () => ink("--grid"), width: 1 }, ticks: { stroke: () => ink("--grid"), width: 1 } };
  const ticks = logarithmic ? { splits: (u, place, least, most) => logTicks(least, most), filter: (u, splits) => splits } : {};
  return { ...colours, ...ticks, font: "11px system-ui", values: (u, splits) => splits.map(tickText) };
}

function draw(card, panel, box) {
  const tip = element("div", { class: "tip", hidden: true });
  box.previousSibling.textContent = panel.y_title.replace("per sample", card.shown.sum && panel.rows ? "summed over the training set" : "per sample") + metricWords(panel);
  const options = {
    width: Math.max(box.clientWidth, 200),
    height: 250,
    legend: { show: false },
    scales: {
      x: { time: false, distr: card.shown.logX ? 3 : 1, range: (u, least, most) => (least < most ? [least, most] : [least - 1, most + 1]) },
      y: { distr: card.shown.logY ? 3 : 1, range: verticalRange(panel, card.shown) },
    },
    axes: [{ ...axis(card.shown.logX), size: 36, label: panel.x_title, labelSize: 20, labelFont: "12px system-ui" }, { ...axis(card.shown.logY), size: 62 }],
    series: [{}, ...seriesOptions(panel)],
    bands: bandOptions(panel),
    cursor: { drag: { x: true, y: false, setScale: true }, sync: { key: card.name, scales: ["x", null] }, points: { size: 6 } },
    hooks: { setCursor: [(u) => tell(u, panel, tip)] },
  };
  const u = new uPlot(options, columns(panel, card.shown), box);
  u.root.append(tip);
  const active = (now) => {
    u.over.parentNode.classList.toggle("active", now);
    if (!now) tip.hidden = true;
  };
  u.over.addEventListener("mouseenter", () => active(true));
  u.over.addEventListener("mouseleave", () => active(false));
  box.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") active(false);
    if (!step) return;
    event.preventDefault();
    active(true);
    const place = Math.min(Math.max((u.cursor.idx ?? (step > 0 ? -1 : u.data[0].length)) + step, 0), u.data[0].length - 1);
    u.setCursor({ left: u.valToPos(u.data[0][place], "x"), top: 10 });
  };
  box.onblur = () => active(false);
  return u;
}

// Draw all panels of a figure anew, with its present switches.
function redraw(card) {
  card.plots.forEach((u) => u.destroy());
  card.plots = card.panels.map((panel, place) => draw(card, panel, card.boxes[place]));
}

function sample(key) {
  const { dash, width } = REPORT.looks[key];
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const attributes = { x1: 0, x2: 30, y1: 5, y2: 5, "stroke-width": width, "stroke-dasharray": dash.join(" "), style: `stroke: ${colourOf(key)}` };
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawn.setAttribute("viewBox", "0 0 30 10");
  drawn.setAttribute("aria-hidden", "true");
  drawn.append(line);
  return drawn;
}

// Show the choice of algorithms in all figures that have been drawn.
function applyHidden() {
  for (const button of document.querySelectorAll(".legend [data-key]")) button.setAttribute("aria-pressed", !hidden.has(button.dataset.key));
  for (const card of cards) {
    card.plots.forEach((u, place) => {
      u.batch(() => card.panels[place].series.forEach(({ key }, number) => [1, 2, 3].forEach((part) => u.setSeries(3 * number + part, { show: !hidden.has(key) }, false))));
    });
  }
}

function toggle(key) {
  hidden.has(key) ? hidden.delete(key) : hidden.add(key);
  applyHidden();
}

// Show one algorithm alone; all again, if it is alone already.
function isolate(key, keys) {
  const alone = keys.every((other) => (other === key) !== hidden.has(other));
  hidden.clear();
  if (!alone) keys.filter((other) => other !== key).forEach((other) => hidden.add(other));
  applyHidden();
}

function legend(card) {
  const labels = new Map(card.panels.flatMap(({ series }) => series.map(({ key, label }) => [key, label])));
  const title = "click: hide or show on the whole page; double click: show alone";
  const every = Object.keys(REPORT.looks);
  const buttons = [...labels].map(([key, label]) =>
    element("button", { type: "button", "data-key": key, "aria-pressed": !hidden.has(key), title, onclick: () => toggle(key), ondblclick: () => isolate(key, every) }, sample(key), label),
  );
  const change = (name, text) => {
    const box = element("input", { type: "checkbox", name, onchange: () => { card.shown[name] = box.checked; redraw(card); } });
    box.checked = card.shown[name];
    return element("label", {}, box, ` ${text}`);
  };
  const switches = [change("logX", "log x"), change("logY", "log y")];
  if (card.panels.some(({ rows }) => rows)) switches.push(change("sum", "sum over the training set"));
  const reset = element("button", { type: "button", onclick: () => redraw(card) }, "reset zoom");
  const down = element("button", { type: "button", onclick: () => save(csv(numbers(card)), `${card.name.replace("/", "_")}.csv`), title: "at most 300 points of each curve, five digits" }, "CSV");
  return [element("div", { class: "legend", role: "group", "aria-label": "Curves" }, ...buttons), element("div", { class: "legend" }, ...switches, reset, down)];
}

function numbers(card) {
  const lines = [["panel", "algorithm", "label", "metric", "x", "mean", "low", "high", "trials"]];
  for (const panel of card.panels)
    for (const { key, label, metric, mean, low, high, trials } of panel.series)
      mean.forEach((value, place) => value == null || lines.push([panel.name, key, label, metric, panel.x[place], value, low[place], high[place], trials]));
  return lines;
}

// Return a table of the means of a panel, which is filled when it is opened.
function dataTable(panel) {
  const details = element("details", { class: "data" }, element("summary", {}, "Numbers"));
  const fill = () => {
    if (details.children.length > 1) return;
    const head = element("tr", {}, ...[panel.x_title, ...panel.series.map(({ label, metric }) => label + (metric && ", " + metric))].map((name) => element("th", { scope: "col" }, name)));
    const lines = panel.x.map((x, place) => element("tr", {}, element("td", { class: "number" }, short(x)), ...panel.series.map(({ mean }) => element("td", { class: "number" }, short(mean[place])))));
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
    details.append(element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `Numbers of panel ${panel.name}` }, table));
  };
  details.addEventListener("toggle", fill);
  return details;
}

// Replace the picture of a figure by interactive panels.
function build(article, panels) {
  const shown = { logX: panels.some(({ log_x }) => log_x), logY: panels.some(({ log_y }) => log_y), sum: false };
  const card = { name: article.id, panels, shown, plots: [], boxes: [] };
  const parts = panels.map((panel) => {
    const box = element("div", { class: "chart", tabindex: 0, role: "group", "aria-label": `Curves of panel ${panel.name}: arrow keys tell the values, the table below has them all` });
    card.boxes.push(box);
    return element("div", {}, element("h4", {}, `${panel.name}: ${panel.title}`), element("p", { class: "axis" }), box, dataTable(panel));
  });
  const charts = article.querySelector(".charts");
  charts.style.minHeight = "";
  charts.append(...legend(card), element("div", { class: "panels" }, ...parts));
  redraw(card);
  cards.push(card);
}

function startCharts() {
  const waiting = new Map();
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting || !waiting.has(target)) continue;
        seen.unobserve(target);
        build(target, waiting.get(target));
        waiting.delete(target);
      }
    },
    { rootMargin: "400px" },
  );
  for (const results of REPORT.results) {
    for (const shown of results.shown.filter(({ panels }) => panels.length)) {
      const article = document.getElementById(`${results.name}/${shown.key}`);
      article.querySelector(".picture").style.display = "none";
      article.querySelector(".charts").style.minHeight = "330px";
      waiting.set(article, shown.panels);
      seen.observe(article);
    }
  }
  DARK.addEventListener("change", () => cards.forEach((card) => { redraw(card); card.boxes[0].closest(".charts").querySelectorAll(".legend [data-key]").forEach((button) => button.firstChild.replaceWith(sample(button.dataset.key))); }));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    cards.forEach((card) => card.plots.forEach((u, place) => u.setSize({ width: Math.max(card.boxes[place].clientWidth, 200), height: 250 })));
  });
}

// SPDX-License-Identifier: BSD-3-Clause
"use strict";
// Interactive curves, drawn by uPlot from the page's block of data when their figure comes into view.

let REPORT = null; // contents of the page, see readReport
const DARK = matchMedia("(prefers-color-scheme: dark)");
const hidden = new Set(); // algorithms that are hidden on the whole page
const cards = []; // figures that have been drawn

// Read the contents of the page: compressed JSON.
async function readReport() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  REPORT = await new Response(text).json();
}

// Return a new element with attributes and children; strings become text, never HTML.
function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Return the luminance of a colour, its channels from 0 to 255, by WCAG.
function luminance(channels) {
  const [red, green, blue] = channels.map((channel) => channel / 255).map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const VISIBLE = 3; // contrast of curves with the page, at least

// Return the colour of an algorithm, on a dark page mixed with white until it stands out.
function colourOf(key) {
  const { colour } = REPORT.looks[key];
  if (colour === "#000000") return ink("--ink");
  if (!DARK.matches) return colour;
  const page = luminance(parsed(ink("--paper")));
  const channels = parsed(colour);
  for (let share = 0; share < 1; share += 0.05) {
    const lighter = channels.map((channel) => Math.round(channel + share * (255 - channel)));
    if (luminance(lighter) + 0.05 >= VISIBLE * (page + 0.05)) return `#${lighter.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
  }
  return ink("--ink");
}

const parsed = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
const mixed = (colour, share) => colour + Math.round(255 * share).toString(16).padStart(2, "0"); // with the background

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

// Return the lines of a panel in the order of uPlot's series: single trials, then low, high and mean of each curve.
function linesOf(panel, view) {
  const singles = view.singles ? panel.series.flatMap(({ singles }, curve) => singles.map((values) => ({ curve, kind: "single", values }))) : [];
  return [...singles, ...panel.series.flatMap((series, curve) => ["low", "high", "mean"].map((kind) => ({ curve, kind, values: series[kind] })))];
}

// Return the places in uPlot's series of low, high and mean of a curve.
function placesOf(panel, view, curve) {
  const singles = view.singles ? panel.series.reduce((sum, { singles }) => sum + singles.length, 0) : 0;
  return [1, 2, 3].map((place) => singles + 3 * curve + place);
}

const factorOf = (panel, view) => (view.sum && panel.rows ? panel.rows : 1);

// Return the columns for uPlot: all x, then the values of each line; a logarithmic axis has no number <= 0.
function columns(panel, view) {
  const factor = factorOf(panel, view);
  const drawn = linesOf(panel, view).map(({ curve, kind, values }) => {
    const at = abscissa(panel, panel.series[curve], view);
    const places = kind === "single" ? panel.places : panel.x.keys();
    const points = [...places].map((place, number) => [at(panel.x[place]), values[kind === "single" ? number : place]]);
    return points.filter(([x, y]) => x != null && !(view.logX && x <= 0) && y != null && !(view.logY && y <= 0));
  });
  const x = [...new Set(drawn.flatMap((points) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const placeOf = new Map(x.map((at, place) => [at, place]));
  const column = (points) => {
    const values = new Array(x.length).fill(null);
    for (const [at, y] of points) values[placeOf.get(at)] = y * factor;
    return values;
  };
  return [x, ...drawn.map(column)];
}

// Return the columns of uPlot for the vertical range: those of visible lines, or of the curves of a marked claim.
function fitted(u, card, panel) {
  const mark = markIn(card, panel);
  const lines = linesOf(panel, card.view).map(({ curve }, place) => [curve, place + 1]);
  const included = lines.filter(([curve, line]) => u.series[line].show && (!mark || mark.curves.includes(curve)));
  return included.map(([, line]) => u.data[line]);
}

// The climb at the start is not in the range of what can be summed, as in pictures, while all iterations are shown.
function verticalRange(card, panel) {
  const { view } = card;
  const factor = factorOf(panel, view);
  return (u) => {
    const [x] = u.data;
    const { min, max } = u.series[0]; // the visible x; the scale is updated later
    const climbs = panel.rows && min <= x[0] && max >= x[x.length - 1] && !view.logX && !view.logY;
    const start = x[0] + REPORT.theme.start * (x[x.length - 1] - x[0]);
    let [least, most] = [Infinity, -Infinity];
    for (const column of fitted(u, card, panel)) {
      column.forEach((value, place) => {
        if (value == null || x[place] < min || x[place] > max) return;
        most = Math.max(most, value);
        if (!climbs || x[place] >= start) least = Math.min(least, value);
      });
    }
    if (least > most) return [view.logY ? 0.1 : 0, 1];
    if (panel.range && min <= x[0] && max >= x[x.length - 1] && view.logY === panel.log_y && !markIn(card, panel)) return panel.range;
    const heights = [...panel.lines, ...panel.printed].map(({ value }) => value);
    for (const height of [...heights, ...nearEnds(card, panel, least / factor, most / factor)]) {
      if (view.logY && height <= 0) continue;
      [least, most] = [Math.min(least, height * factor), Math.max(most, height * factor)];
    }
    return view.logY ? [least / 1.15, most * 1.15] : uPlot.rangeNum(least, most, 0.06, true);
  };
}

const metricsOf = (panel, marked = false) => [...new Set(panel.series.filter((series) => series.marked === marked).map(({ metric }) => metric))];

function metricWords(panel) {
  const lines = metricsOf(panel).slice(1).map((name, place) => `${["dashed", "dotted"][place]}: ${name}`);
  const words = [...lines, ...metricsOf(panel, true).map((name) => `open circles: ${name}`)];
  return words.length ? `; ${words.join("; ")}` : "";
}

function seriesOptions(card, panel) {
  const pointed = markIn(card, panel);
  const { compared, path, second, third } = REPORT.theme.looks;
  return linesOf(panel, card.view).map(({ curve, kind }) => {
    const series = panel.series[curve];
    const alpha = pointed && !pointed.curves.includes(curve) ? FADED : 1;
    const stroke = () => colourOf(series.key);
    const edge = { show: !hidden.has(series.key), label: series.label, points: { show: false }, spanGaps: true, alpha };
    if (kind === "single") return { ...edge, stroke, width: path.width, alpha: alpha * 0.5 };
    if (kind !== "mean") return { ...edge, stroke: "transparent", width: 0 };
    if (series.marked) return { ...edge, stroke, width: compared.width, paths: () => null, points: { show: true, size: compared.size, width: compared.width, fill: "transparent" } };
    const look = [REPORT.looks[series.key], second, third][metricsOf(panel).indexOf(series.metric)];
    return { ...edge, stroke, width: look.width, dash: look.dash, alpha: alpha * look.alpha, paths: panel.stepped ? uPlot.paths.stepped({ align: 1 }) : null, points: { show: panel.x.length < 25, size: 5, fill: stroke } };
  });
}

function bandOptions(card, panel) {
  return panel.series.flatMap((series, curve) => {
    const [low, high] = placesOf(panel, card.view, curve);
    return series.low.length ? [{ series: [high, low], fill: () => mixed(colourOf(series.key), card.shade ?? REPORT.theme.looks.band.alpha) }] : [];
  });
}

// Return the place of the point of a line that is nearest to a place, between the ends of the line.
function nearest(u, line, place) {
  const column = u.data[line];
  if (place == null || column[place] != null) return place;
  let [before, after] = [place, place];
  while (before >= 0 && column[before] == null) before--;
  while (after < column.length && column[after] == null) after++;
  if (before < 0 || after === column.length) return place;
  const x = u.data[0];
  return x[place] - x[before] <= x[after] - x[place] ? before : after;
}

// Write the values of the curves at the cursor: mean, band and number of trials.
function writeTip(u, card, panel, tip) {
  const place = u.cursor.idx;
  if (place == null || !u.over.parentNode.classList.contains("active")) {
    tip.hidden = true;
    return;
  }
  const curves = panel.series.map((series, number) => {
    const places = placesOf(panel, card.view, number);
    const point = nearest(u, places[2], place);
    const [low, high, mean] = places.map((line) => u.data[line][point]);
    return { series, x: u.data[0][point], low, high, mean, bar: estimates(card, panel, series).find(({ x }) => x === u.data[0][point]) };
  });
  const visible = curves.filter(({ series, mean }) => mean != null && !hidden.has(series.key)).sort((a, b) => b.mean - a.mean);
  const lines = visible.map(({ series, x, low, high, mean, bar }) => {
    const interval = bar ? `, interval of the estimate: ${bar.low == null ? "below" : `${short(bar.low)} to`} ${short(bar.high)}` : "";
    const band = low == null ? "" : ` (${short(low)} to ${short(high)})`;
    const name = element("span", { style: `color: ${colourOf(series.key)}` }, "■ ");
    const at = x === u.data[0][place] ? "" : ` at ${short(x)}`;
    return element("div", {}, name, `${series.label}${series.metric ? ", " + series.metric : ""}: ${short(mean)}${band}${interval}${at}${series.trials > 1 ? `, ${series.trials} trials` : ""}`);
  });
  tip.replaceChildren(element("b", {}, panel.ticks[u.data[0][place]] ?? `${xTitle(card, panel)} ${short(u.data[0][place])}`), ...lines);
  tip.hidden = false;
  const right = u.cursor.left > u.over.clientWidth / 2;
  tip.style.left = right ? "" : `${u.over.offsetLeft + u.cursor.left + 14}px`;
  tip.style.right = right ? `${u.root.clientWidth - u.over.offsetLeft - u.cursor.left + 14}px` : "";
  tip.style.top = `${u.over.offsetTop + 6}px`;
}

// Return the estimates behind a curve and their intervals, in the units of the axes; null for a lower end without bound.
function estimates(card, panel, series) {
  const [at, factor] = [abscissa(panel, series, card.view), factorOf(panel, card.view)];
  const scaled = (value) => (value == null ? null : value * factor);
  const ends = series.estimate_high.map((high, place) => ({ x: at(panel.x[place]), mean: scaled(series.mean[place]), low: scaled(series.estimate_low[place]), high: scaled(high) }));
  return ends.filter(({ x, high }) => x != null && high != null);
}

// Draw within the plot, and some pixels to the right of it, with a canvas whose settings are restored.
function clipped(u, drawing, beyond = 0) {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width + beyond * devicePixelRatio, height);
  u.ctx.clip();
  drawing();
  u.ctx.restore();
}

// Draw a line through points.
function drawLine(ctx, ...points) {
  ctx.beginPath();
  for (const [x, y] of points) ctx.lineTo(x, y);
  ctx.stroke();
}

// Draw a thin bar for each estimate; without a lower end an arrow points down from the curve.
function drawEstimates(u, card, panel) {
  const { top, height } = u.bbox;
  for (const series of panel.series.filter(({ key }) => !hidden.has(key))) {
    u.ctx.strokeStyle = colourOf(series.key);
    const { width: wide, dash, alpha } = REPORT.theme.looks[series.marked ? "compared_estimate" : "estimate"];
    u.ctx.lineWidth = wide * devicePixelRatio;
    u.ctx.globalAlpha = alpha;
    u.ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    const arrow = (REPORT.theme.looks.open_end.size / 2) * devicePixelRatio;
    for (const { x, mean, low, high } of estimates(card, panel, series)) {
      const [across, from] = [u.valToPos(x, "x", true), u.valToPos(low ?? mean, "y", true)];
      const tip = low == null ? from + arrow : card.view.logY && low <= 0 ? top + height : from;
      u.ctx.beginPath();
      u.ctx.moveTo(across, u.valToPos(high, "y", true));
      u.ctx.lineTo(across, tip);
      if (low == null) for (const side of [-0.25, 0.25]) [u.ctx.moveTo(across, tip), u.ctx.lineTo(across + side * arrow, tip - 0.35 * arrow)];
      u.ctx.stroke();
    }
  }
}

// Return powers of ten, at most about seven; also twice and five times a power if there are few.
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

function axis(logarithmic, names = []) {
  const lines = { stroke: () => mixed(ink("--ink"), 1 - parsed(REPORT.theme.looks.grid.colour)[0] / 255), width: 1 };
  const common = { stroke: () => ink("--ink"), grid: lines, ticks: lines, font: REPORT.theme.fonts.tick };
  const ticks = logarithmic ? { splits: (u, place, least, most) => logTicks(least, most), filter: (u, splits) => splits } : {};
  if (names.length) return { ...common, splits: () => [...names.keys()], values: () => names, rotate: -60 };
  return { ...common, ...ticks, values: (u, splits) => splits.map(tickText) };
}

function draw(card, panel, box) {
  const tip = element("div", { class: "tip", hidden: true });
  box.parentNode.querySelector(".axis").textContent = (card.view.sum && panel.rows ? panel.sum_title : panel.y_title) + metricWords(panel);
  const options = {
    width: Math.max(box.clientWidth, 200),
    height: 250,
    legend: { show: false },
    padding: [null, panel.ticks.length ? 45 : null, null, null], // for the last of the slanted names
    scales: {
      x: { time: false, distr: card.view.logX ? 3 : 1, range: (u, least, most) => (least < most ? [least, most] : [least - 1, most + 1]) },
      y: { distr: card.view.logY ? 3 : 1, range: verticalRange(card, panel) },
    },
    axes: [{ ...axis(card.view.logX, panel.ticks), size: panel.ticks.length ? 110 : 36, label: xTitle(card, panel), labelSize: 20, labelFont: REPORT.theme.fonts.label }, { ...axis(card.view.logY), size: 62 }],
    series: [{}, ...seriesOptions(card, panel)],
    bands: bandOptions(card, panel),
    cursor: { drag: { x: true, y: false, setScale: true }, sync: { key: `${card.name} ${countedIn(panel, card.view)}`, scales: ["x", null] }, points: { size: 6 }, dataIdx: (u, line, place) => (line ? nearest(u, line, place) : place) },
    hooks: { setCursor: [(u) => writeTip(u, card, panel, tip)], drawClear: [drawMark, drawEstimates].map((drawing) => (u) => clipped(u, () => drawing(u, card, panel))), draw: [(u) => clipped(u, () => drawLevels(u, card, panel), 6)] },
  };
  const u = new uPlot(options, columns(panel, card.view), box);
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

// Draw all panels of a figure again, with its present switches.
function redraw(card) {
  card.words.textContent = countingWords(card);
  card.words.hidden = !card.words.textContent;
  card.plots.forEach((u) => u.destroy());
  card.plots = card.panels.map((panel, place) => draw(card, panel, card.boxes[place]));
}

function sample(key) {
  const { dash, width } = REPORT.looks[key];
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const attributes = { x1: 0, x2: 30, y1: 5, y2: 5, "stroke-width": width, "stroke-dasharray": dash.join(" "), style: `stroke: ${colourOf(key)}` };
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 30 10");
  picture.setAttribute("aria-hidden", "true");
  picture.append(line);
  return picture;
}

// Apply the choice of algorithms to all drawn figures.
function applyHidden() {
  for (const button of document.querySelectorAll(".legend [data-key]")) button.setAttribute("aria-pressed", !hidden.has(button.dataset.key));
  for (const model of document.querySelectorAll(".models [data-key]")) model.hidden = hidden.has(model.dataset.key);
  for (const card of cards) {
    card.plots.forEach((u, place) => {
      const panel = card.panels[place];
      u.batch(() => linesOf(panel, card.view).forEach(({ curve }, line) => u.setSeries(line + 1, { show: !hidden.has(panel.series[curve].key) }, false)));
    });
  }
}

function toggle(key) {
  hidden.has(key) ? hidden.delete(key) : hidden.add(key);
  applyHidden();
}

// Show one algorithm alone; all, if it is alone already.
function isolate(key, keys) {
  const alone = keys.every((other) => (other === key) !== hidden.has(other));
  hidden.clear();
  if (!alone) keys.filter((other) => other !== key).forEach((other) => hidden.add(other));
  applyHidden();
}

// Return buttons that hide or show algorithms; ``labels`` are by key.
function algorithmButtons(labels, name) {
  const title = "click: hide or show on the whole page; double click: show alone";
  const keys = Object.keys(REPORT.looks);
  const buttons = [...labels].map(([key, label]) =>
    element("button", { type: "button", "data-key": key, "aria-pressed": !hidden.has(key), title, onclick: () => toggle(key), ondblclick: () => isolate(key, keys) }, sample(key), label),
  );
  return element("div", { class: "legend", role: "group", "aria-label": name }, ...buttons);
}

function legend(card) {
  const labels = new Map(card.panels.flatMap(({ series }) => series.map(({ key, label }) => [key, label])));
  const change = (name, text) => {
    const box = element("input", { type: "checkbox", name, onchange: () => { card.view[name] = box.checked; redraw(card); } });
    box.checked = card.view[name];
    return element("label", {}, box, ` ${text}`);
  };
  const switches = [change("logX", "log x"), change("logY", "log y")];
  if (card.panels.some(({ rows }) => rows)) switches.push(change("sum", "sum over the training set"));
  const singles = Math.max(...card.panels.flatMap(({ series }) => series.map((curve) => curve.singles.length)));
  if (singles > 0) switches.push(change("singles", `single trials (at most ${singles})`));
  switches.push(...counting(card));
  const reset = element("button", { type: "button", onclick: () => redraw(card) }, "reset zoom");
  const down = element("button", { type: "button", onclick: () => save(csv(numbers(card)), `${card.name.replace("/", "_")}.csv`), title: "at most 100 points of each curve, five digits" }, "CSV");
  return [algorithmButtons(labels, "Curves"), element("div", { class: "legend" }, ...switches, reset, down)];
}

function numbers(card) {
  const lines = [["panel", "algorithm", "label", "metric", "x", "mean", "low", "high", "trials"]];
  for (const panel of card.panels)
    for (const { key, label, metric, mean, low, high, trials } of panel.series)
      mean.forEach((value, place) => value == null || lines.push([panel.name, key, label, metric, panel.x[place], value, low[place], high[place], trials]));
  return lines;
}

// Return a table of the means of a panel, filled when opened.
function dataTable(panel) {
  const details = element("details", { class: "data" }, element("summary", {}, "Numbers"));
  const fill = () => {
    if (details.children.length > 1) return;
    const head = element("tr", {}, ...[panel.x_title, ...panel.series.map(({ label, metric }) => label + (metric && ", " + metric))].map((name) => element("th", { scope: "col" }, name)));
    const lines = panel.x.map((x, place) => element("tr", {}, element("td", { class: "number" }, panel.ticks[x] ?? short(x)), ...panel.series.map(({ mean }) => element("td", { class: "number" }, short(mean[place])))));
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines));
    details.append(element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `Numbers of panel ${panel.name}` }, table));
  };
  details.addEventListener("toggle", fill);
  return details;
}

// Return horizontal lines of a panel and values printed in the paper, in words.
function levelWords(panel) {
  const lines = panel.lines.map(({ title, value }) => `╌ ${title}, ${short(value)}`);
  return [...lines, ...panel.printed.map(({ label, value }) => `◇ printed in the paper: ${label}, ${short(value)}`)].join("; ");
}

// Replace the picture of a figure by interactive panels.
function build(article, figure) {
  const { panels, shade, machines } = figure;
  const view = { logX: panels.some(({ log_x }) => log_x), logY: panels.some(({ log_y }) => log_y), sum: false, singles: false, counted: "own" };
  const card = { name: article.id, article, panels, shade, machines, view, plots: [], boxes: [], pointed: null };
  const items = panels.map((panel) => {
    const box = element("div", { class: "chart", tabindex: 0, role: "group", "aria-label": `Curves of panel ${panel.name}: arrow keys show the values, the table below lists all` });
    card.boxes.push(box);
    const levels = levelWords(panel);
    return element("div", {}, element("h4", {}, `${panel.name}: ${panel.title}`), element("p", { class: "axis" }), box, ...(levels ? [element("p", { class: "axis" }, levels)] : []), dataTable(panel));
  });
  const charts = article.querySelector(".charts");
  charts.style.minHeight = "";
  card.words = element("p", { class: "facts", "aria-live": "polite", hidden: true });
  charts.append(...legend(card), card.words, element("div", { class: "panels" }, ...items));
  startPointing(card);
  redraw(card);
  cards.push(card);
  return card;
}

const waiting = new Map(); // figures that are not drawn yet, by article

// Return the figure of an article, drawn if necessary; null if it has no curves.
function drawnCard(article) {
  if (waiting.has(article)) {
    const figure = waiting.get(article);
    waiting.delete(article);
    return build(article, figure);
  }
  return cards.find((card) => card.article === article) ?? null;
}

function startCharts() {
  for (const [name, font] of Object.entries(REPORT.theme.fonts)) document.documentElement.style.setProperty(`--${name}`, font);
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        drawnCard(target);
      }
    },
    { rootMargin: "400px" },
  );
  // Read once, before any change: reading from a changed page computes its layout again.
  const across = Math.max(1, Math.floor(((document.querySelector(".charts")?.clientWidth ?? 0) + 16) / 368));
  for (const results of REPORT.results) {
    for (const figure of results.shown.filter(({ panels }) => panels.length)) {
      const article = document.getElementById(`${results.name}/${figure.key}`);
      article.querySelector(".picture").style.display = "none";
      // Close to the final height, so that the page below hardly moves while somebody reads it.
      const charts = article.querySelector(".charts");
      charts.style.minHeight = `${90 + 340 * Math.ceil(figure.panels.length / across)}px`;
      waiting.set(article, figure);
      seen.observe(article);
    }
  }
  DARK.addEventListener("change", () => {
    cards.forEach(redraw);
    document.querySelectorAll(".legend [data-key]").forEach((button) => button.firstChild.replaceWith(sample(button.dataset.key)));
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    cards.forEach((card) => card.plots.forEach((u, place) => u.setSize({ width: Math.max(card.boxes[place].clientWidth, 200), height: 250 })));
  });
}

// SPDX-License-Identifier: BSD-3-Clause
"use strict";
// A claim in the chart of its figure: other curves are faded, its window and its accepted range are shaded.

const FADED = 0.2;
const STRETCH = 1.5; // largest growth of the vertical axis to show an end of an accepted range, in ranges of the curves

const markIn = (card, panel) => card.pointed?.marks.find((mark) => mark.panel === panel.name);

// Return the ends of the accepted range near the curves, which are shown.
function nearEnds(card, panel, least, most) {
  const mark = markIn(card, panel);
  if (!mark || mark.along !== "y") return [];
  const room = STRETCH * (most - least);
  return [mark.above, mark.below].filter((end) => end != null && end > least - room && end < most + room);
}

// Shade the window of a claim and its accepted range behind the curves.
function drawMark(u, card, panel) {
  const mark = markIn(card, panel);
  if (!mark) return;
  const { left, top, width, height } = u.bbox;
  const { ctx } = u;
  const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
  const place = (value, scale) => {
    const [first, length] = scale === "x" ? [left, width] : [top, height];
    const pixel = u.valToPos(value, scale, true);
    return clamp(Number.isFinite(pixel) ? pixel : value > 0 === (scale === "x") ? first + length : first, first - 2, first + length + 2);
  };
  [ctx.fillStyle, ctx.strokeStyle, ctx.lineWidth] = [ink("--accepted"), ink("--yes-edge"), devicePixelRatio];
  const converted = mark.curves.map((curve) => abscissa(panel, panel.series[curve], card.view));
  if (mark.along === "y") {
    const factor = factorOf(panel, card.view);
    const [high, low] = [mark.below, mark.above].map((end, edge) => (end == null ? top + edge * height : place(end * factor, "y")));
    if (mark.above != null || mark.below != null) {
      ctx.fillRect(left, high, width, low - high);
      if (mark.below != null) drawLine(ctx, [left, high], [left + width, high]);
      if (mark.above != null) drawLine(ctx, [left, low], [left + width, low]);
    }
  } else {
    const ends = [mark.above, mark.below].map((end) => (end == null ? null : converted[0](end)));
    const [from, to] = ends.map((end, edge) => (end == null ? left + edge * width : place(end, "x")));
    ctx.fillRect(from, top, to - from, height);
    if (ends[0] != null) drawLine(ctx, [from, top], [from, top + height]);
    if (ends[1] != null) drawLine(ctx, [to, top], [to, top + height]);
  }
  if (mark.window) {
    ctx.fillStyle = ink("--window");
    const windows = new Set(converted.map((at) => mark.window.map(at)).filter(([from, to]) => from != null && to != null).map(String));
    for (const window of windows) {
      const [from, to] = window.split(",").map((end) => place(Number(end), "x"));
      ctx.fillRect(from - devicePixelRatio, top, Math.max(to - from, 2 * devicePixelRatio), height);
    }
  }
}

// Draw horizontal lines and values of the paper, hollow, in front of the curves.
function drawLevels(u, card, panel) {
  const { left, width } = u.bbox;
  const { ctx } = u;
  const factor = factorOf(panel, card.view);
  const pixel = devicePixelRatio;
  ctx.strokeStyle = ink("--ink");
  const { printed, printed_line, ...looks } = REPORT.theme.looks;
  const level = (value, { width: wide, dash }) => {
    const y = u.valToPos(value * factor, "y", true);
    ctx.lineWidth = wide * pixel;
    ctx.setLineDash(dash.map((length) => length * pixel));
    drawLine(ctx, [left, y], [left + width, y]);
    ctx.setLineDash([]);
    return y;
  };
  for (const { value, look } of panel.lines) level(value, looks[look]);
  const half = printed.size * Math.SQRT1_2 * pixel;
  for (const { value, at } of panel.printed) {
    // In other units of the axis a printed value has no x.
    const placed = at != null && countedIn(panel, card.view) === "own";
    const y = placed ? u.valToPos(value * factor, "y", true) : level(value, printed_line);
    const x = placed ? u.valToPos(at, "x", true) : left + width - 5 * pixel;
    ctx.lineWidth = printed.width * pixel;
    ctx.beginPath();
    for (const [dx, dy] of [[0, -half], [half, 0], [0, half], [-half, 0]]) ctx.lineTo(x + dx, y + dy);
    ctx.closePath();
    ctx.stroke();
  }
}

const rangeWords = ({ above, below }) => [above == null ? "" : `above ${short(above)}`, below == null ? "" : `below ${short(below)}`].filter(Boolean).join(" and ");

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Return the marked claim in words, with links to its runs and to its row.
function pointedWords(card) {
  const { pointed } = card;
  const scale = card.name.slice(0, card.name.indexOf("/"));
  const mark = pointed.marks[0];
  const panel = card.panels.find(({ name }) => name === mark.panel);
  const interval = pointed.low == null ? "" : ` (${short3(pointed.low)} to ${short3(pointed.high)})`;
  const facts = [
    pointed.measured == null ? pointed.note : `${capital(pointed.what || "measured")}: ${short3(pointed.measured)}${interval}`,
    rangeWords(pointed) && `accepted ${rangeWords(pointed)}`,
    pointed.published && `printed ${pointed.published}`,
    mark.window && `at ${panel.x_title} ${[...new Set(mark.window.map(short))].join(" to ")} (shaded)`,
    rangeWords(mark) && `accepted on the ${mark.along} axis ${rangeWords(mark)} (green)`,
  ];
  const runs = new Set(pointed.marks.flatMap(({ panel: name, curves }) => curves.map((curve) => card.panels.find((panel) => panel.name === name).series[curve].run)).filter(Boolean));
  const links = [...runs].flatMap((run) => [" ", element("a", { href: `#${scale}/runs/${run}` }, run)]);
  return [
    element("b", {}, `${capital(pointed.verdict)}: ${pointed.text}. `),
    facts.filter(Boolean).join("; ") + ". ",
    ...(links.length ? ["Runs:", ...links, ". "] : []),
    element("a", { href: `#${scale}/${pointed.claim}` }, "Row of the claim"), " ",
    element("button", { type: "button", onclick: () => { point(card, null); history.replaceState(null, "", `#${card.name}`); } }, "clear"),
  ];
}

// Infinite numbers are texts in JSON.
const short3 = (value) => String(Number(Number(value).toPrecision(3)));

// Mark a claim in the chart of its figure; null: none.
function point(card, claim) {
  card.pointed = claim;
  for (const item of card.article.querySelectorAll(".about li[data-claim]")) item.querySelector("a").setAttribute("aria-current", item.dataset.claim === claim?.claim);
  card.status.replaceChildren(...(claim ? pointedWords(card) : []));
  card.status.hidden = !claim;
  for (const { panel: name, curves } of claim?.marks ?? []) {
    const { series } = card.panels.find((panel) => panel.name === name);
    curves.forEach((curve) => hidden.delete(series[curve].key));
  }
  applyHidden();
  redraw(card);
  if (!claim) return;
  const box = card.boxes[card.panels.findIndex(({ name }) => name === claim.marks[0].panel)];
  box.before(card.status);
  box.scrollIntoView({ block: "center" });
}

// Show a claim in the chart of a figure; return whether it has marks there.
function pointAt(article, name) {
  const scale = article.id.slice(0, article.id.indexOf("/"));
  const claim = REPORT.results.find((results) => results.name === scale)?.claims.find(({ claim, shown }) => claim === name && `${scale}/${shown}` === article.id);
  if (!claim?.marks.length) return false;
  const card = drawnCard(article);
  if (card) point(card, claim);
  return card != null;
}

const addressOf = (figure, claim) => `#${figure}?claim=${encodeURIComponent(claim)}`;

// Links of the claims on a figure mark them in its chart, and have links to their rows beside them.
function startPointing(card) {
  card.status = element("p", { class: "pointed", role: "status", hidden: true });
  card.article.querySelector(".charts").append(card.status);
  for (const item of card.article.querySelectorAll(".about li[data-claim]")) {
    const { claim } = item.dataset;
    const link = item.querySelector("a");
    link.after(" ", element("a", { href: link.getAttribute("href"), class: "row", "aria-label": `row of the claim: ${link.textContent}` }, "row"));
    link.setAttribute("href", addressOf(card.name, claim));
    link.title = "mark it in the chart";
    // An unchanged address raises no event.
    link.addEventListener("click", () => location.hash === link.hash && pointAt(card.article, claim));
  }
}

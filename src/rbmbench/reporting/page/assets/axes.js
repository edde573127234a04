// SPDX-License-Identifier: BSD-3-Clause
"use strict";
// What the horizontal axis of figures of training counts: iterations, processor seconds or Gibbs steps.

// Titles of what it can count beside what the figure itself counts.
const COUNTED = {
  own: "",
  seconds: "processor seconds of training, of one trial",
  steps: "Gibbs steps of a row of the negative phase",
};

const isTraining = (panel) => ["iteration", "epoch"].includes(panel.x_title);

function gibbsSteps(stages, iteration) {
  let [steps, from] = [0, 0];
  for (const stage of stages) {
    if (iteration <= stage.until) return steps + (iteration - from) * stage.steps;
    steps += (stage.until - from) * stage.steps;
    from = stage.until;
  }
  return null; // a stage whose steps have no fixed number
}

const countable = (series) => ({ own: true, seconds: series.some(({ seconds }) => seconds != null), steps: series.some(({ steps }) => steps.length) });

// Return what the axis of a panel counts: what is chosen for the figure, if one of its curves has a place on it.
function countedIn(panel, shown) {
  return isTraining(panel) && countable(panel.series)[shown.counted] ? shown.counted : "own";
}

// Return the function that takes the x of a curve to the chosen axis; null where the curve has no place on it.
function abscissa(panel, one, shown) {
  const counted = countedIn(panel, shown);
  if (counted === "own") return (x) => x;
  const iterations = (x) => x * (panel.epoch ?? 1);
  if (counted === "seconds") return (x) => (one.seconds == null ? null : iterations(x) * one.seconds);
  return (x) => gibbsSteps(one.steps, iterations(x));
}

const xTitle = (card, panel) => COUNTED[countedIn(panel, card.shown)] || panel.x_title;

// Return the choice of what the horizontal axis counts, where the runs tell more than iterations.
function counting(card) {
  const has = countable(card.panels.filter(isTraining).flatMap((panel) => panel.series));
  if (!has.seconds && !has.steps) return [];
  const names = { own: card.panels.find(isTraining).x_title, seconds: "processor second", steps: "Gibbs step" };
  const options = Object.keys(names).filter((name) => has[name]).map((name) => element("option", { value: name }, names[name]));
  const select = element("select", { name: "counted", onchange: () => { card.shown.counted = select.value; redraw(card); } }, ...options);
  return [element("label", {}, "x: ", select)];
}

// Return in words what the chosen axis counts, and which curves have no place on it.
function countingWords(card) {
  const { counted } = card.shown;
  if (counted === "own") return "";
  // A stage without a fixed number of steps ends a curve: it has no place at the last x of its panel.
  const without = card.panels.filter(isTraining).flatMap((panel) => {
    const last = panel.x[panel.x.length - 1];
    const lost = (one) => (counted === "seconds" ? one.seconds == null : gibbsSteps(one.steps, last * (panel.epoch ?? 1)) == null);
    return panel.series.filter(lost).map(({ label }) => label);
  });
  const words = {
    seconds: `Processor seconds in which one trial was trained: iterations times the mean time of an iteration of its run, evaluation not counted.${card.machines > 1 ? ` The runs were made on ${card.machines} kinds of machines or with different threads: compare times of different curves with care.` : ""}`,
    steps: "Gibbs steps that a row of the negative phase took: k in each iteration of CD-k and PCD-k, and one for each temperature of parallel tempering; inner steps of an iteration are added.",
  };
  const why = counted === "seconds" ? "no time is recorded" : "the number of steps is not fixed";
  return words[counted] + (without.length ? ` Not drawn where ${why}: ${[...new Set(without)].join(", ")}; panels of these alone count as before.` : "");
}

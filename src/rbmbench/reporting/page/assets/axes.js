// SPDX-License-Identifier: BSD-3-Clause
"use strict";
// Unit of the horizontal axis of figures of training: iterations, processor seconds or Gibbs steps.

// Titles of the axis in units other than that of the figure.
const COUNTED = {
  own: "",
  seconds: "processor seconds of training, of one trial",
  steps: "Gibbs steps of a row of the negative phase",
};

const isTraining = ({ series }) => series.some(({ seconds, steps }) => seconds != null || steps.length);

function gibbsSteps(stages, iteration) {
  let [steps, from] = [0, 0];
  for (const stage of stages) {
    if (iteration <= stage.until) return steps + (iteration - from) * stage.steps;
    steps += (stage.until - from) * stage.steps;
    from = stage.until;
  }
  return null; // a stage without a fixed number of steps
}

const countable = (series) => ({ own: true, seconds: series.some(({ seconds }) => seconds != null), steps: series.some(({ steps }) => steps.length) });

// Return the unit of the axis of a panel: the chosen one, if any of its curves has values in it.
function countedIn(panel, view) {
  return isTraining(panel) && countable(panel.series)[view.counted] ? view.counted : "own";
}

// Return the function from x of a curve to the chosen unit; null where the curve has no value in it.
function abscissa(panel, curve, view) {
  const counted = countedIn(panel, view);
  if (counted === "own") return (x) => x;
  const iterations = (x) => Math.round(x * (panel.epoch ?? 1));
  if (counted === "seconds") return (x) => (curve.seconds == null ? null : iterations(x) * curve.seconds);
  return (x) => gibbsSteps(curve.steps, iterations(x));
}

const xTitle = (card, panel) => COUNTED[countedIn(panel, card.view)] || panel.x_title;

// Return the choice of the unit of the horizontal axis, if runs have several.
function counting(card) {
  const available = countable(card.panels.filter(isTraining).flatMap((panel) => panel.series));
  if (!available.seconds && !available.steps) return [];
  const names = { own: card.panels.find(isTraining).x_title, seconds: "processor second", steps: "Gibbs step" };
  const options = Object.keys(names).filter((name) => available[name]).map((name) => element("option", { value: name }, names[name]));
  const select = element("select", { name: "counted", onchange: () => { card.view.counted = select.value; redraw(card); } }, ...options);
  return [element("label", {}, "x: ", select)];
}

// Return the unit of the chosen axis in words, and the curves without values in it.
function countingWords(card) {
  const { counted } = card.view;
  if (counted === "own") return "";
  // A stage without a fixed number of steps ends a curve: it has no value at the last x of its panel.
  const without = card.panels.filter(isTraining).flatMap((panel) => {
    const last = panel.x[panel.x.length - 1];
    const isMissing = ({ seconds, steps }) => (counted === "seconds" ? seconds == null : gibbsSteps(steps, Math.round(last * (panel.epoch ?? 1))) == null);
    return panel.series.filter(isMissing).map(({ label }) => label);
  });
  const words = {
    seconds: `Processor seconds in which one trial was trained: iterations times the mean time of an iteration of its run, evaluation not counted.${card.machines > 1 ? ` The runs were made on ${card.machines} kinds of machines or with different threads: compare times of different curves with care.` : ""}`,
    steps: "Gibbs steps that a row of the negative phase took: k in each iteration of CD-k and PCD-k, and one for each temperature of parallel tempering; inner steps of an iteration are added.",
  };
  const why = counted === "seconds" ? "no time is recorded" : "the number of steps is not fixed";
  return words[counted] + (without.length ? ` Not drawn where ${why}: ${[...new Set(without)].join(", ")}; panels of these alone count as before.` : "");
}

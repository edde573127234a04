// SPDX-License-Identifier: BSD-3-Clause
"use strict";
// Filters and samples of models, with a slider that goes through the iterations of training.

const sliders = new Map(); // by article: a function that shows an iteration, given as text

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u00a0");

// Return the pictures of one algorithm, and a function that shows them at an iteration.
function modelImages(label, byIteration) {
  const pictures = ["filters", "samples"].map((what) => ({ what, image: element("img", {}), words: element("figcaption", {}) }));
  const show = (iteration) => {
    const one = byIteration.get(iteration);
    for (const { what, image, words } of pictures) {
      image.hidden = !one;
      if (one) image.src = one[what];
      image.alt = `${what[0].toUpperCase()}${what.slice(1)} of ${label} after ${grouped(iteration)} iterations`;
      words.textContent = !one ? "no model was kept here" : what === "samples" ? what : `filters, weights up to ±${one.largest}`;
    }
  };
  const figures = pictures.map(({ image, words }) => element("figure", {}, image, words));
  return { box: element("div", { role: "group", "aria-label": label }, element("h4", {}, label), ...figures), show };
}

function startSnapshot(article, found) {
  const iterations = [...new Set(found.map(({ iteration }) => iteration))].sort((a, b) => a - b);
  const labels = new Map(found.map(({ key, label }) => [key, label]));
  const models = [...labels].map(([key, label]) => {
    const byIteration = new Map(found.filter((one) => one.key === key).map((one) => [one.iteration, one]));
    const made = modelImages(label, byIteration);
    made.box.dataset.key = key;
    return made;
  });
  const slider = element("input", { type: "range", min: 0, max: iterations.length - 1, step: 1 });
  const value = element("output", {});
  const show = (place) => {
    const words = `${grouped(iterations[place])} iterations`;
    slider.value = place;
    slider.setAttribute("aria-valuetext", words);
    value.textContent = words;
    for (const model of models) model.show(iterations[place]);
  };
  slider.addEventListener("input", () => {
    show(Number(slider.value));
    history.replaceState(null, "", `#${article.id}?iteration=${iterations[slider.value]}`);
  });
  sliders.set(article, (text) => {
    const place = iterations.map(String).indexOf(text);
    if (place >= 0) show(place);
  });
  show(iterations.length - 1);
  const ticks = element("span", { class: "ticks", "aria-hidden": "true" }, ...iterations.map((iteration) => element("span", {}, grouped(iteration))));
  const control = element("div", { class: "slider" }, element("label", {}, "Trained for ", element("span", { class: "scale" }, slider, ticks)), value);
  article.querySelector(".charts").append(algorithmButtons(labels, "Algorithms"), control, element("div", { class: "models" }, ...models.map(({ box }) => box)));
  article.querySelector(".picture").style.display = "none";
}

function startSnapshots() {
  for (const results of REPORT.results)
    for (const { key, snapshots } of results.shown) if (snapshots.length) startSnapshot(document.getElementById(`${results.name}/${key}`), snapshots);
}

// SPDX-License-Identifier: BSD-3-Clause
"use strict";
// Images of models, with a slider for the iterations of training if there are several.

const sliders = new Map(); // by article: a function that shows an iteration, given as text

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u00a0");

// Return the pictures of one algorithm, and a function that shows them at an iteration.
function modelImages(label, images) {
  const names = [...new Set(images.map(({ name }) => name))];
  const pictures = names.map((name) => ({ name, image: element("img", {}), words: element("figcaption", {}) }));
  const show = (iteration) => {
    for (const { name, image, words } of pictures) {
      const snapshot = images.find((other) => other.name === name && other.iteration === iteration);
      image.hidden = !snapshot;
      if (snapshot) image.src = snapshot.address;
      const when = iteration == null ? "" : ` after ${grouped(iteration)} iterations`;
      image.alt = `${name[0].toUpperCase()}${name.slice(1)} of ${label}${when}`;
      words.textContent = snapshot ? snapshot.words : "no model was kept here";
    }
  };
  const figures = pictures.map(({ image, words }) => element("figure", {}, image, words));
  return { box: element("div", { role: "group", "aria-label": label }, element("h4", {}, label), ...figures), show };
}

function startSnapshot(article, images) {
  const iterations = [...new Set(images.map(({ iteration }) => iteration))].sort((a, b) => a - b);
  const labels = new Map(images.map(({ key, label }) => [key, label]));
  const models = [...labels].map(([key, label]) => {
    const model = modelImages(label, images.filter((image) => image.key === key));
    model.box.dataset.key = key;
    return model;
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
  control.hidden = iterations.length < 2;
  article.querySelector(".charts").append(algorithmButtons(labels, "Algorithms"), control, element("div", { class: "models" }, ...models.map(({ box }) => box)));
  article.querySelector(".picture").style.display = "none";
}

function startSnapshots() {
  for (const results of REPORT.results)
    for (const { key, images } of results.shown) if (images.length) startSnapshot(document.getElementById(`${results.name}/${key}`), images);
}

// Choosing samples by name, split and class, and flipping through their pictures with the arrow keys.
const samples = [...document.querySelectorAll("article")];
const byName = document.getElementById("by-name");
const byGroup = document.getElementById("by-group");
const byClass = document.getElementById("by-class");

function choose() {
  for (const sample of samples) {
    const named = sample.querySelector("h2").textContent.toLowerCase().includes(byName.value.toLowerCase());
    const grouped = !byGroup.value || sample.dataset.group === byGroup.value;
    const classed = !byClass.value || JSON.parse(sample.dataset.classes).includes(byClass.value);
    sample.hidden = !(named && grouped && classed);
  }
  const shown = samples.filter((sample) => !sample.hidden).length;
  document.getElementById("shown").textContent = shown < samples.length ? `, ${shown} shown` : "";
}
for (const control of [byName, byGroup, byClass]) control.addEventListener("input", choose);

const viewer = document.getElementById("viewer");
let at = { sample: null, picture: 0 };

function show(sample, picture) {
  const figures = [...sample.querySelectorAll("figure")];
  if (figures.length === 0) return;
  at = { sample, picture: Math.min(Math.max(picture, 0), figures.length - 1) };
  const figure = figures[at.picture];
  viewer.querySelector("img").src = figure.querySelector("img").src;
  viewer.querySelector("p").textContent = `${sample.querySelector("h2").textContent}: ${figure.querySelector("figcaption").textContent}`;
  if (!viewer.open) viewer.showModal();
}

// The next one that is shown and has pictures; the same picture of it, so that augmented versions can be compared.
function step(direction) {
  const chosen = samples.filter((sample) => !sample.hidden && sample.querySelector("figure"));
  const place = chosen.indexOf(at.sample) + direction;
  if (place >= 0 && place < chosen.length) show(chosen[place], at.picture);
}

for (const sample of samples) {
  [...sample.querySelectorAll("figure")].forEach((figure, i) => figure.addEventListener("click", () => show(sample, i)));
}
viewer.addEventListener("click", () => viewer.close());
document.addEventListener("keydown", (event) => {
  if (!viewer.open) return;
  if (event.key === "ArrowRight") step(1);
  else if (event.key === "ArrowLeft") step(-1);
  else if (event.key === "ArrowDown") show(at.sample, at.picture + 1);
  else if (event.key === "ArrowUp") show(at.sample, at.picture - 1);
  else return;
  event.preventDefault();
});

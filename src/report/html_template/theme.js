// Light or dark: the reader's choice where one was made, else the system's setting. Runs before the page is drawn.
const theme = {
  system: window.matchMedia("(prefers-color-scheme: dark)"),
  current() { return document.documentElement.dataset.theme || (this.system.matches ? "dark" : "light"); },
  set(name) {
    document.documentElement.dataset.theme = name;
    document.dispatchEvent(new Event("themechange"));
  },
  toggle() {
    this.set(this.current() === "dark" ? "light" : "dark");
    try { localStorage.setItem("tessera-theme", this.current()); } catch { /* pages opened from disk may not store */ }
  },
  color(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); },
};
try {
  const kept = localStorage.getItem("tessera-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* no store, no choice */ }
theme.system.addEventListener("change", () => document.dispatchEvent(new Event("themechange")));
document.addEventListener("DOMContentLoaded", () => {
  document.getElementById("theme-toggle").addEventListener("click", () => theme.toggle());
});

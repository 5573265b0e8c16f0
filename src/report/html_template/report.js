// Puts the page together: curves, matrix, sorting, pictures, copying, printing.

function sortRows(table, column, ascending) {
  const key = (row) => row.cells[column].dataset.value;
  const numeric = [...table.tBodies[0].rows].every((row) => key(row) === "" || !Number.isNaN(Number(key(row))));
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === "");  // classes without a score stay last
    const order = numeric ? Number(key(a)) - Number(key(b)) : key(a).localeCompare(key(b));
    return ascending ? order : -order;
  });
  table.tBodies[0].append(...rows);
}

function makeSortable(table) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    header.tabIndex = 0;
    const sort = () => {
      const ascending = header.ariaSort === "descending" || (header.ariaSort === null && column < 2);  // scores start with the best
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sortRows(table, column, ascending);
    };
    header.addEventListener("click", sort);
    header.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}

function openPictures() {
  const box = document.getElementById("lightbox");
  for (const button of document.querySelectorAll(".zoom")) {
    button.addEventListener("click", () => {
      box.querySelector("img").src = button.querySelector("img").src;
      box.querySelector("p").textContent = button.querySelector("img").alt;
      box.showModal();
    });
  }
  box.addEventListener("click", () => box.close());
}

function copyConfig(button) {
  const text = document.getElementById("config-text");
  button.addEventListener("click", async (event) => {
    event.preventDefault();  // the button lies in the summary, which would open or close
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      // Pages opened from disk may not write to the clipboard: select the text, the reader presses the keys.
      text.parentElement.open = true;
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
}

function followSections() {
  const links = [...document.querySelectorAll("nav a")];
  const mark = () => {
    let here = links[0];
    for (const link of links) {
      if (document.querySelector(link.hash).getBoundingClientRect().top < 120) here = link;
    }
    links.forEach((link) => link.classList.toggle("here", link === here));
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

// Paper is white, and everything that is folded away belongs on it.
function preparePrinting() {
  let before = null;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme || "";
    theme.set("light");
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
    Object.values(Chart.instances).forEach((chart) => chart.resize());
  });
  addEventListener("afterprint", () => {
    if (before) theme.set(before);
    else { delete document.documentElement.dataset.theme; document.dispatchEvent(new Event("themechange")); }
    Object.values(Chart.instances).forEach((chart) => chart.resize());
  });
}

const data = JSON.parse(document.getElementById("report-data").textContent);
drawCurves(data.curves, data.resumes);
if (data.confusion) drawConfusion(data.confusion);
document.querySelectorAll("table.sortable").forEach(makeSortable);
const copyButton = document.getElementById("copy-config");
if (copyButton) copyConfig(copyButton);
openPictures();
followSections();
preparePrinting();

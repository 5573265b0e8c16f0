// What a page that a browser has laid out looks like: put at the end of the page by check_pages.py, which reads the JSON that it leaves.
(() => {
  const found = {errors: window.pageErrors || [], width: innerWidth, scroll: document.documentElement.scrollWidth, requests: [], wide: [], outside: [], overlaps: [], faint: [], small: []};
  for (const entry of performance.getEntriesByType("resource")) found.requests.push(entry.name);

  const visible = element => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility === "visible" && !element.closest("[hidden], details:not([open]) > :not(summary)");
  };
  const name = element => `${element.tagName.toLowerCase()}.${element.getAttribute("class") || ""} '${element.textContent.trim().slice(0, 40)}'`;

  const scrolls = element => {
    for (let at = element; at; at = at.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return true;
    }
    return false;
  };

  // Contrast as WCAG 2 has it, of each text against the first ground that is not transparent.
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const parse = text => (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
      if (color[3] > 0) return null;  // mixed with what lies below: not judged
    }
    return [255, 255, 255];
  };
  found.ground = ground(document.body);
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
    if (!own || !visible(element) || element.closest("script, style, option")) continue;
    const svg = element instanceof SVGElement, below = ground(svg ? element.ownerSVGElement : element);
    const color = parse(svg ? getComputedStyle(element).fill : getComputedStyle(element).color);
    if (!below || color.length < 3 || color[3] === 0) continue;
    const [low, high] = [luminance(color), luminance(below)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.faint.push(`${name(element)} ${ratio.toFixed(2)}`);
    const box = element.getBoundingClientRect();
    if (box.right > innerWidth + 1 && !svg && !scrolls(element)) found.wide.push(name(element));
  }

  // Words of a drawing: inside of it, and none on another.
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect(), words = [...svg.querySelectorAll("text")].filter(visible).map(text => [text, text.getBoundingClientRect()]);
    for (const [text, box] of words) {
      const size = parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a;
      if (size < 7.5 || size > 20) found.small.push(`${name(text)} ${size.toFixed(1)}`);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) found.outside.push(name(text));
    }
    for (let i = 0; i < words.length; ++i) {
      for (let j = 0; j < i; ++j) {
        const [a, b] = [words[i][1], words[j][1]];
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 0.3 * Math.min(a.height, b.height)) found.overlaps.push(`${name(words[i][0])} and ${name(words[j][0])}`);
      }
    }
  }

  // Tables that can be sorted: a column of numbers after one click on its head, and after another.
  found.sorted = [];
  for (const table of document.querySelectorAll("table.sortable")) {
    const values = column => [...table.tBodies[0].rows].map(row => row.cells[column].dataset.value).filter(value => value).map(Number);
    const column = [...table.tHead.rows[0].cells].findIndex((_, column) => new Set(values(column).filter(value => !isNaN(value))).size > 1 && !values(column).some(isNaN));
    if (column < 0) continue;
    const click = () => (table.tHead.rows[0].cells[column].click(), values(column));
    found.sorted.push([click(), click()]);
  }
  const out = document.createElement("pre");
  out.id = "page-probe";
  out.textContent = JSON.stringify(found);
  document.body.append(out);
})();

// Draws the confusion matrix: one row per label, shaded by the share of the label's pixels. Data: {names, rows}.

function mixed(from, to, share) {
  return from.map((value, i) => Math.round(value + (to[i] - value) * share));
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// The square root lifts rare mistakes, which are what one looks for, out of the background.
function shade(share) {
  return mixed(channels(theme.color("sunken")), channels(theme.color("accent")), Math.sqrt(share));
}

function elided(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  while (text.length > 1 && context.measureText(text + "…").width > width) text = text.slice(0, -1);
  return text + "…";
}

function drawConfusion({ names, rows }) {
  const canvas = document.getElementById("confusion-matrix");
  const hint = document.getElementById("confusion-hint");
  const n = rows.length;
  const totals = rows.map((row) => row.reduce((a, b) => a + b, 0));
  const shareOf = (label, prediction) => totals[label] > 0 ? rows[label][prediction] / totals[label] : 0;
  let hovered = null;
  let place = null;  // where the cells lie: {left, top, cell} in CSS pixels

  function layout(context, width) {
    const labelled = n <= 40 && (width - 110) / n >= 10;
    context.font = "11px " + getComputedStyle(document.body).fontFamily;
    const longest = labelled ? Math.max(...names.map((name) => context.measureText(name).width)) : 0;
    const margin = labelled ? Math.min(longest + 10, width * 0.24, 120) : 20;
    return { labelled, margin, left: margin, top: margin, cell: (width - margin) / n };
  }

  function drawLabels(context, { margin, left, top, cell }) {
    context.fillStyle = theme.color("quiet");
    context.textBaseline = "middle";
    names.forEach((name, i) => {
      const text = elided(context, name, margin - 8);
      context.textAlign = "right";
      context.fillText(text, left - 6, top + (i + 0.5) * cell);
      context.save();
      context.translate(left + (i + 0.5) * cell, top - 6);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(text, 0, 0);
      context.restore();
    });
  }

  function drawAxisNames(context, { left, top }, width) {
    context.fillStyle = theme.color("quiet");
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillText("prediction", (left + width) / 2, top / 2);
    context.save();
    context.translate(left / 2, (top + width) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText("label", 0, 0);
    context.restore();
  }

  // One image pixel per cell, enlarged without smoothing: quick also for hundreds of classes.
  function drawCells(context, { left, top, cell }) {
    const small = document.createElement("canvas");
    small.width = small.height = n;
    const pixels = new ImageData(n, n);
    for (let label = 0; label < n; label++) {
      for (let prediction = 0; prediction < n; prediction++) {
        pixels.data.set([...shade(shareOf(label, prediction)), 255], 4 * (label * n + prediction));
      }
    }
    small.getContext("2d").putImageData(pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, n * cell, n * cell);
    if (cell < 12) return;
    context.strokeStyle = theme.color("surface");
    context.lineWidth = 1;
    for (let i = 1; i < n; i++) {
      context.strokeRect(left + i * cell, top - 1, 0, n * cell + 2);
      context.strokeRect(left - 1, top + i * cell, n * cell + 2, 0);
    }
  }

  function drawNumbers(context, { left, top, cell }) {
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let label = 0; label < n; label++) {
      for (let prediction = 0; prediction < n; prediction++) {
        const share = shareOf(label, prediction);
        if (share < 0.005) continue;
        context.fillStyle = Math.sqrt(share) > 0.5 ? theme.color("surface") : theme.color("text");
        context.fillText(Math.round(100 * share), left + (prediction + 0.5) * cell, top + (label + 0.5) * cell);
      }
    }
  }

  function draw() {
    const width = canvas.clientWidth;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.height = Math.round(width * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    place = layout(context, width);
    drawCells(context, place);
    if (place.cell >= 26) drawNumbers(context, place);
    if (place.labelled) drawLabels(context, place); else drawAxisNames(context, place, width);
    if (hovered) {
      context.strokeStyle = theme.color("text");
      context.lineWidth = 1.5;
      const size = Math.max(place.cell, 4);
      context.strokeRect(place.left + hovered.prediction * place.cell, place.top + hovered.label * place.cell, size, size);
    }
  }

  function point(event) {
    const box = canvas.getBoundingClientRect();
    const prediction = Math.floor((event.clientX - box.left - place.left) / place.cell);
    const label = Math.floor((event.clientY - box.top - place.top) / place.cell);
    const inside = label >= 0 && label < n && prediction >= 0 && prediction < n;
    if (inside && hovered && hovered.label === label && hovered.prediction === prediction) return;
    hovered = inside ? { label, prediction } : null;
    if (inside) {
      const verb = label === prediction ? "recognised" : "taken for " + names[prediction];
      hint.textContent = names[label] + " " + verb + ": " + grouped.format(rows[label][prediction]) + " of " + grouped.format(totals[label]) +
        " pixels, " + (100 * shareOf(label, prediction)).toFixed(2) + " %";
    }
    draw();
  }

  const legend = document.createElement("p");
  legend.className = "shades";
  function drawLegend() {
    legend.replaceChildren(...[0, 0.01, 0.1, 0.5, 1].map((share) => {
      const entry = document.createElement("span");
      const swatch = document.createElement("i");
      swatch.style.background = "rgb(" + shade(share).join(",") + ")";
      entry.append(swatch, 100 * share + " %");
      return entry;
    }));
  }
  hint.after(legend);
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerdown", point);
  canvas.addEventListener("pointerleave", () => { hovered = null; draw(); });
  document.addEventListener("themechange", () => { draw(); drawLegend(); });
  new ResizeObserver(draw).observe(canvas.parentElement);
  drawLegend();
}

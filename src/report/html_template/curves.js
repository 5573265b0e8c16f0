"use strict";
// Draws the curves of the report with Chart.js. Data: {id: {percent, series: [{label, look, right, hidden, x, y}]}}; a null is a gap.

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const grouped = new Intl.NumberFormat("en");

function numberText(value, percent) {
  if (value === null || value === undefined) return "not finite";
  if (percent) return (100 * value).toFixed(2) + " %";
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6)) {
    return Number(value.toPrecision(3)).toExponential();
  }
  return Number(value.toPrecision(4)).toString();
}

// Series have steps of their own, so each answers with its point nearest to the pointer.
Chart.Interaction.modes.nearestPerSeries = (chart, event) => {
  const at = chart.scales.x.getValueForPixel(event.x);
  const items = [];
  chart.data.datasets.forEach((set, datasetIndex) => {
    if (!chart.isDatasetVisible(datasetIndex) || set.data.length === 0) return;
    let low = 0;
    let high = set.data.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (set.data[middle].x < at) low = middle; else high = middle;
    }
    const index = at - set.data[low].x < set.data[high].x - at ? low : high;
    items.push({ element: chart.getDatasetMeta(datasetIndex).data[index], datasetIndex, index });
  });
  return items;
};

// A dashed line where the run was resumed, a thin one under the pointer.
const verticalLines = {
  id: "verticalLines",
  afterDatasetsDraw(chart, _, options) {
    const { ctx, chartArea, scales } = chart;
    const line = (x, color, dash) => {
      if (x < chartArea.left || x > chartArea.right) return;
      ctx.save();
      ctx.strokeStyle = color;
      ctx.setLineDash(dash);
      ctx.beginPath();
      ctx.moveTo(x, chartArea.top);
      ctx.lineTo(x, chartArea.bottom);
      ctx.stroke();
      ctx.restore();
    };
    for (const step of options.resumes || []) line(scales.x.getPixelForValue(step), theme.color("quiet"), [3, 4]);
    const active = chart.getActiveElements();
    if (active.length > 0) line(active[0].element.x, theme.color("line"), []);
  },
};

const kFewPoints = 40;    // up to here each point gets a dot
const kManyPoints = 400;  // from here lines are thin, or noise becomes a solid band
const kLayers = { smooth: 1, line: 1, faint: 2, area: 3 };  // Chart.js draws the lowest last, on top

function dataset(series, index) {
  const color = theme.color("series-" + (index % 6 + 1));
  const points = series.x.map((x, i) => ({ x, y: series.y[i] }));
  const line = series.look === "line";
  const thick = series.look === "smooth" || (line && points.length < kManyPoints);
  return {
    label: series.label,
    data: points,
    hidden: series.hidden,
    borderDash: index >= 6 ? [5, 3] : [],  // the colours come round again
    yAxisID: series.right ? "right" : "y",
    order: kLayers[series.look],
    clip: 6,
    borderColor: series.look === "faint" ? color + "4d" : color,
    backgroundColor: series.look === "area" ? color + "26" : color,
    fill: series.look === "area" ? "origin" : false,
    borderWidth: thick ? 1.8 : 1,
    pointRadius: points.length < 2 ? 3 : line && points.length <= kFewPoints ? 2 : 0,
    pointHoverRadius: 3.5,
    pointHitRadius: 0,
  };
}

// All curves share one range of steps, so that one can look from one to the other.
function stepRange(curves) {
  const steps = Object.values(curves).flatMap((curve) => curve.series.flatMap((series) => [series.x[0], series.x[series.x.length - 1]]));
  const low = Math.min(...steps);
  const high = Math.max(...steps);
  if (low === high) return { min: low - 1, max: high + 1 };  // one step alone would give the axis no width
  return { min: low < 0.2 * high ? 0 : low, max: high };
}

function scales(curve, range, log) {
  const grid = { color: theme.color("line"), drawBorder: false, tickLength: 0 };
  const ticks = { color: theme.color("quiet"), padding: 7, maxRotation: 0, autoSkipPadding: 18, font: { size: 11 } };
  const share = (value) => Number((100 * value).toFixed(1)) + " %";
  const aboveZero = curve.series.every((s) => s.y.every((y) => y === null || y >= 0));
  // Shares near nothing would else get an axis that goes below it.
  const nearZero = curve.percent && curve.series.some((s) => !s.hidden && s.y.some((y) => y !== null && y < 0.1));
  const all = {
    x: { type: "linear", ...range, grid: { ...grid, display: false }, ticks: { ...ticks, callback: (value) => compact.format(value) } },
    y: {
      type: log ? "logarithmic" : "linear", grid, beginAtZero: aboveZero && !log && !curve.percent, grace: aboveZero && !curve.percent ? 0 : "4%", min: nearZero ? 0 : undefined, max: curve.percent ? 1 : undefined,
      ticks: { ...ticks, maxTicksLimit: 6, callback: curve.percent ? share : (value) => numberText(value, false) },
    },
  };
  if (curve.series.some((s) => s.right)) {
    all.right = { position: "right", min: 0, max: 1, grid: { display: false, drawBorder: false }, ticks: { ...ticks, stepSize: 0.25, callback: share } };
  }
  return all;
}

function chartOptions(curve, range, log, resumes, choice) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    normalized: true,
    spanGaps: false,
    interaction: { mode: "nearestPerSeries", intersect: false },
    scales: scales(curve, range, log),
    plugins: {
      verticalLines: { resumes },
      legend: {
        display: curve.series.length > 1, align: "start",
        labels: { color: theme.color("quiet"), boxWidth: 14, boxHeight: 2, padding: 14, font: { size: 12 }, filter: choice && ((item) => !item.hidden) },
        ...(choice && { onClick: (_, item) => choice(item.datasetIndex, false) }),
      },
      tooltip: {
        backgroundColor: theme.color("surface"), titleColor: theme.color("quiet"), bodyColor: theme.color("text"),
        borderColor: theme.color("line"), borderWidth: 1, padding: 10, cornerRadius: 7, boxWidth: 7, boxHeight: 7, boxPadding: 5,
        titleFont: { weight: "normal", size: 12 }, bodyFont: { size: 12.5 }, caretSize: 0, caretPadding: 10, usePointStyle: true,
        callbacks: {
          title: (items) => items.length > 0 ? "step " + grouped.format(items[0].parsed.x) : "",
          label: (item) => {
            const series = curve.series[item.datasetIndex];
            // Said only where it can be seen that the series has no point at the step in the title.
            const away = Math.abs(item.parsed.x - item.chart.tooltip.dataPoints[0].parsed.x) > 0.01 * (range.max - range.min);
            const elsewhere = away ? "  (step " + grouped.format(item.parsed.x) + ")" : "";
            return " " + series.label + "  " + numberText(series.y[item.dataIndex], curve.percent || series.right) + elsewhere;
          },
          labelColor: (item) => ({ backgroundColor: item.dataset.borderColor, borderColor: item.dataset.borderColor }),
          labelPointStyle: () => ({ pointStyle: "circle", rotation: 0 }),
        },
      },
    },
  };
}

function logButton(canvas, curve, setLog) {
  // A logarithm needs values above zero.
  if (!curve.series.every((s) => s.y.every((y) => y === null || y > 0))) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Log scale";
  let log = false;
  button.addEventListener("click", () => {
    log = !log;
    button.textContent = log ? "Linear scale" : "Log scale";
    setLog(log);
  });
  canvas.closest("figure").querySelector("figcaption").append(button);
}

// A list to add those series from that are not shown; a click on their name in the legend takes them away again.
function seriesList(canvas, curve, choose) {
  const list = document.createElement("select");
  list.setAttribute("aria-label", "Show another class");
  const fill = () => {
    const others = curve.series.map((series, i) => [series.label, i]).filter(([, i]) => curve.series[i].hidden);
    others.sort(([a], [b]) => a.localeCompare(b));
    list.replaceChildren(new Option("Show \u2026", ""), ...others.map(([label, i]) => new Option(label, i)));
    list.disabled = others.length === 0;
  };
  list.addEventListener("change", () => { if (list.value !== "") choose(Number(list.value), true); });
  fill();
  canvas.closest("figure").querySelector("figcaption").append(list);
  return fill;
}

function drawCurves(curves, resumes) {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  const range = stepRange(curves);
  for (const canvas of document.querySelectorAll("canvas[data-curve]")) {
    const curve = curves[canvas.dataset.curve];
    // The raw values and their smoothed line share the first colour.
    const shift = curve.series[0].look === "faint" ? 1 : 0;
    const datasets = () => curve.series.map((series, i) => dataset(series, Math.max(0, i - shift)));
    let log = false;
    const choice = curve.series.some((series) => series.hidden) && ((index, shown) => {
      curve.series[index].hidden = !shown;
      refill();
      redraw();
    });
    const options = () => chartOptions(curve, range, log, resumes, choice);
    const chart = new Chart(canvas, { type: "line", data: { datasets: datasets() }, options: options(), plugins: [verticalLines] });
    const redraw = () => {
      chart.data.datasets = datasets();
      chart.options = options();
      chart.update();
    };
    const refill = choice && seriesList(canvas, curve, choice);
    document.addEventListener("themechange", redraw);
    if (canvas.dataset.curve === "loss") logButton(canvas, curve, (wanted) => { log = wanted; redraw(); });
  }
}

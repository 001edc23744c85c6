"use strict";
// The page of `exprun report --html`. Everything from the store enters the document as text.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const ROWS_AT_ONCE = 200;
const SHOWN_AT_FIRST = 8;
const FEW_POINTS = 25;  // up to here a curve shows its points
const FEW_PARAMETERS = 3;  // up to here they name a run, and stand before its end in the table
const MOST_TICKS = 7;  // of an axis
const SHORT = 18;  // letters at an axis of the parallel coordinates
const PAPER = { width: 690, column: 340, height: 272, cell: 192 };  // px, of A4 within usual margins
const PALETTES = {
  light: ["#0b57b0", "#c2410c", "#15803d", "#7c3aed", "#b91c1c", "#0e7490", "#a16207", "#be185d", "#4d7c0f", "#475569"],
  dark: ["#7cb4ff", "#ffa066", "#79d99a", "#c4a5ff", "#ff9d94", "#67d3e8", "#e6c35c", "#ff9ccb", "#b7dd6b", "#b8c2d0"],
};

const state = {
  order: data.rows.map((_, i) => i), listed: [], sort: null, descending: false, rowLimit: ROWS_AT_ONCE,
  shown: new Set(data.rows.map((_, i) => i).slice(0, SHOWN_AT_FIRST)), muted: new Set(),
  smoothing: 0, logX: false, logY: false, zoom: null, onPaper: false,
};
const theme = () => document.documentElement.dataset.theme;
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colorOf = run => PALETTES[theme()][run % PALETTES.light.length];
const dashOf = run => [[], [6, 3], [2, 3]][Math.floor(run / PALETTES.light.length) % 3];

// The run and what sets it apart, where that is short.
function labelOf(run) {
  const changes = parameterColumns.map(i => `${data.columns[i].title}=${data.rows[run][i][1]}`);
  return [data.runs[run].name, ...(changes.length <= FEW_PARAMETERS ? changes : [])].join(" ");
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function format(value) {
  if (value == null) return "nan";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(2).replace("e+", "e") : String(Number(value.toPrecision(4)));
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB"];

function formatBytes(value) {
  if (value == null) return "nan";
  const power = Math.min(Math.floor(Math.log2(Math.max(Math.abs(value), 1)) / 10), BYTES.length - 1);
  return `${Number((value / 1024 ** power).toPrecision(4))} ${BYTES[power]}`;
}

const isBytes = series => series != null && series.endsWith("_bytes");
const formatOf = series => isBytes(series) ? formatBytes : format;

// What all these numbers are written in: B, KiB, MiB and so on.
const unitOf = values => Math.min(Math.floor(Math.log2(Math.max(1, ...values.map(Math.abs))) / 10), BYTES.length - 1);

// Numbers that stand at one axis, in order: in one notation, with as many digits as tell each from the next; `even`: all with
// the same number of decimals.
function formatTogether(values, bytes = false, even = false) {
  const power = bytes ? unitOf(values) : 0;
  const numbers = values.map(value => value / 1024 ** power);
  const sizes = numbers.map(Math.abs).filter(size => size > 0);
  const steps = numbers.slice(1).map((value, i) => Math.abs(value - numbers[i])).filter(step => step > 0);
  const error = value => Math.min(1e-4 * Math.abs(value), ...steps.map(step => step / 1000));
  const exponent = !bytes && sizes.length > 0 && (Math.max(...sizes) >= 1e6 || Math.min(...sizes) < 1e-4);
  const write = (value, digits) => exponent ? value.toExponential(digits) : value.toFixed(digits);
  const digitsOf = value => [...Array(16).keys()].find(digits => Math.abs(Number(write(value, digits)) - value) <= error(value)) ?? 16;
  const most = Math.max(0, ...numbers.map(digitsOf));
  return numbers.map(value => {
    if (value === 0) return bytes ? `0 ${BYTES[power]}` : "0";
    const text = write(value, even && !exponent ? most : digitsOf(value)).replace("e+", "e");
    return bytes ? `${text} ${BYTES[power]}` : text;
  });
}

// Multiples of 1, 2 or 5 times a power of ten, from the last below `low` to the first above `high`.
function roundTicks(low, high) {
  const rough = (high - low) / (MOST_TICKS - 2) || Math.abs(high) || 1;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = decade * [1, 2, 5, 10].find(factor => factor * decade >= rough * (1 - 1e-9));
  const first = Math.floor(low / step + 1e-9), last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// Each 1, 2 and 5, or powers of ten where those are too many; round numbers between where those are too few.
function logarithmicTicks(low, high) {
  if (!(low > 0 && Number.isFinite(high))) return [];
  const inside = value => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9);
  const first = Math.floor(Math.log10(low)), decades = Math.ceil(Math.log10(high)) - first + 1;
  const ticks = (factors, every) => Array.from({ length: decades }, (_, i) => first + i).filter(decade => decade % every === 0)
    .flatMap(decade => factors.map(factor => Number(`${factor}e${decade}`))).filter(inside);
  const fine = ticks([1, 2, 5], 1);
  if (fine.length < 3) return roundTicks(low, high).filter(inside);
  if (fine.length <= MOST_TICKS) return fine;
  let every = 1;
  while (ticks([1], every).length > MOST_TICKS) ++every;
  return ticks([1], every);
}

// The best by the goal of the series first, those that are no numbers last.
function compareValues(series, a, b) {
  const [x, y] = [Number.isFinite(a), Number.isFinite(b)];
  if (!x || !y) return y - x;
  return data.goals[series] === "highest" ? b - a : a - b;
}

const parameterColumns = data.columns.map((column, i) => i).filter(i => data.columns[i].role === "parameter");
const resultColumns = data.columns.map((column, i) => i).filter(i => data.columns[i].role === "metric");

// --- the table of runs -----------------------------------------------------------------------------

const isLong = text => text.length > (state.onPaper ? 30 : 60);

const pen = document.createElement("canvas").getContext("2d");
function paperWidth(text) {
  pen.font = `bold 8pt ${getComputedStyle(document.body).fontFamily}`;
  return (isLong(text) ? PAPER.cell : pen.measureText(text).width) + 12;
}

// [the columns of the table, those that stand below each run]. Many parameters stand last, so that the step, the state and the
// time are seen without scrolling; what is too wide for paper stands below.
function tableColumns() {
  const all = data.columns.map((column, i) => i);
  if (parameterColumns.length <= FEW_PARAMETERS && !state.onPaper) return [all, []];
  const ordered = [...all.filter(i => data.columns[i].role !== "parameter"), ...parameterColumns];
  if (!state.onPaper) return [ordered, []];
  const runs = state.listed.slice(0, state.rowLimit);
  const texts = i => [...data.columns[i].title.split(" "), ...runs.map(run => data.rows[run][i][1])];
  const widths = all.map(i => Math.max(...texts(i).map(paperWidth)));
  let left = PAPER.width - 30;
  // The name and the end first, then what is left of the others.
  const first = ordered.filter(i => data.columns[i].role === "other"), others = ordered.filter(i => data.columns[i].role !== "other");
  const fits = new Set([...first, ...others].filter(i => (left -= widths[i]) >= 0));
  return [(fits.size === all.length ? all : ordered).filter(i => fits.has(i)), ordered.filter(i => !fits.has(i))];
}

// A cell is [value, text]; the value of a text is null where it has no better one.
const valueOf = cell => cell[0] ?? (cell[1] === "" ? null : cell[1]);

function compareCells(a, b) {
  const [x, y] = [valueOf(a), valueOf(b)];
  if (x === null || y === null) return (x === null) - (y === null);
  if (typeof x === "number" && typeof y === "number") return x - y;
  return String(x).localeCompare(String(y), "en", { numeric: true });
}

function sortRuns() {
  if (state.sort === null) return;
  const [column, sign] = [state.sort, state.descending ? -1 : 1];
  const empty = run => valueOf(data.rows[run][column]) === null || data.rows[run][column][1] === "nan";
  state.order.sort((a, b) => empty(a) - empty(b) || (empty(a) ? 0 : sign * compareCells(data.rows[a][column], data.rows[b][column])) || a - b);
}

// The best run of each metric.
const best = data.columns.map((column, i) => {
  const runs = data.rows.map((row, run) => run).filter(run => typeof data.rows[run][i][0] === "number");
  if (column.goal === "none" || runs.length < 2) return null;
  const sign = column.goal === "highest" ? -1 : 1;
  return runs.reduce((a, b) => sign * (data.rows[b][i][0] - data.rows[a][i][0]) < 0 ? b : a);
});

// What the filter says, or all runs and what is wrong with it.
function listRuns() {
  let test = () => true, mistake = "";
  try {
    test = filterOf(byId("filter").value.trim(), data.columns);
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    mistake = `Not filtered: ${error.message}.`;
  }
  state.listed = state.order.filter(run => test({ cells: data.rows[run], tags: data.runs[run].tags }));
  byId("count").textContent = `${state.listed.length} of ${data.rows.length} runs`;
  byId("filter").setAttribute("aria-invalid", String(mistake !== ""));
  byId("filter-error").textContent = mistake;
}

function sortBy(column) {
  state.descending = state.sort === column ? !state.descending : data.columns[column].goal === "highest";
  state.sort = column;
  sortRuns();
  listRuns();
  drawTable();
  drawScatter();
  drawParallel();
}

function drawHead(columns) {
  const cells = columns.map(i => {
    const column = data.columns[i];
    const sorted = state.sort === i ? (state.descending ? "descending" : "ascending") : "none";
    // Chromium prints no button in a head that it repeats on the next page.
    const button = state.onPaper ? column.title : element("button", { type: "button", title: column.key, onclick: () => sortBy(i) }, column.title);
    return element("th", { scope: "col", "aria-sort": sorted, class: column.right ? "right" : "" }, button);
  });
  const focused = [...document.querySelectorAll("#runs th button")].indexOf(document.activeElement);
  document.querySelector("#runs thead").replaceChildren(
    element("tr", {}, element("th", { scope: "col" }, element("span", { class: "quiet" }, "Show")), ...cells));
  if (focused >= 0 && !state.onPaper) document.querySelectorAll("#runs th button")[focused].focus();
}

function drawRow(run, columns, below) {
  const swatch = element("span", { class: "swatch" });
  const color = () => { swatch.style.background = box.checked ? colorOf(run) : ""; };
  // The rows stay, and with them the focus.
  const toggle = () => {
    color();
    state.shown[box.checked ? "add" : "delete"](run);
    state.muted.delete(run);
    drawShown();
  };
  const box = element("input", { type: "checkbox", "aria-label": `Show ${data.runs[run].name}`, onchange: toggle });
  box.checked = state.shown.has(run);
  color();
  const cells = columns.map(i => [i, data.rows[run][i]]).map(([i, cell]) => element("td", {
    class: [data.columns[i].right ? "right" : "", best[i] === run ? "best" : cell[2] ?? "", isLong(cell[1]) ? "long" : ""].join(" ").trim() }, cell[1]));
  const row = element("tr", {}, element("td", {}, box, swatch), ...cells);
  const told = below.filter(i => data.rows[run][i][1] !== "").map(i => `${data.columns[i].title}=${data.rows[run][i][1]}`);
  if (!told.length) return [row];
  row.className = "split";
  return [row, element("tr", { class: "below" }, element("td"), element("td", { colspan: cells.length }, told.join("  ")))];
}

function drawTable() {
  const [columns, below] = tableColumns();
  drawHead(columns);
  const none = element("tr", {}, element("td", { colspan: data.columns.length + 1 }, "There are no runs yet."));
  const rows = state.listed.slice(0, state.rowLimit).flatMap(run => drawRow(run, columns, below));
  document.querySelector("#runs tbody").replaceChildren(...(data.rows.length ? rows : [none]));
  const left = state.listed.length - state.rowLimit;
  byId("more").hidden = left <= 0;
  byId("more").textContent = `Show ${Math.min(left, 1000)} more rows`;
}

function showOnly(runs) {
  state.shown = new Set(runs);
  state.muted.clear();
  redrawAll();
}

// What is about the shown runs; beside them the others are gray.
function drawShown() {
  drawLegend();
  drawCurves();
  drawDifferences();
  drawSamples();
  drawScatter();
  drawParallel();
}

function redrawAll() {
  drawTable();
  drawShown();
}

const shownRuns = () => state.order.filter(run => state.shown.has(run));

function drawLegend() {
  byId("legend").replaceChildren(...shownRuns().slice(0, 100).map(run => {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = colorOf(run);
    const button = element("button", { type: "button", "aria-pressed": String(!state.muted.has(run)), onclick: () => {
      state.muted[state.muted.has(run) ? "delete" : "add"](run);
      button.setAttribute("aria-pressed", String(!state.muted.has(run)));
      drawCurves();
    } }, swatch, labelOf(run));
    return element("li", {}, button);
  }));
}

// --- curves ------------------------------------------------------------------------------------------

const charts = new Map();  // by name of the series
const cursors = new Map();  // what draws the cursor of each

// An exponential moving average that forgets its start, as TensorBoard's.
function smoothed(values) {
  if (state.smoothing === 0) return values;
  let mean = 0, weight = 0;
  return values.map(value => {
    if (value == null) return null;
    mean = state.smoothing * mean + (1 - state.smoothing) * value;
    weight = state.smoothing * weight + (1 - state.smoothing);
    return mean / weight;
  });
}

function curveOf(run, name) {
  const curve = data.runs[run].curves[name];
  if (!curve) return [];
  const values = smoothed(curve[1]);
  const inside = (x, y) => (!state.logX || x > 0) && (!state.logY || y == null || y > 0);
  return curve[0].map((x, i) => ({ x, y: values[i] })).filter(point => inside(point.x, point.y));
}

function datasets(name) {
  return shownRuns().filter(run => data.runs[run].curves[name]).map(run => {
    const points = curveOf(run, name);
    return {
      label: labelOf(run), data: points, borderColor: colorOf(run), backgroundColor: colorOf(run), borderDash: dashOf(run),
      borderWidth: 1.8, pointRadius: points.length <= FEW_POINTS ? 3 : 0, pointHoverRadius: 4, hidden: state.muted.has(run), tension: 0, spanGaps: false,
    };
  });
}

function axis(logarithmic, title, series) {
  const write = (value, i, ticks) => formatTogether(ticks.map(tick => tick.value), isBytes(series), !logarithmic)[i];
  return {
    type: logarithmic ? "logarithmic" : "linear", grid: { color: css("--grid") },
    ticks: { color: css("--quiet"), maxTicksLimit: MOST_TICKS, includeBounds: false, autoSkip: !logarithmic, callback: write },
    title: { display: Boolean(title), text: title, color: css("--quiet") },
    afterBuildTicks: scale => setTicks(scale, logarithmic, isBytes(series)),
  };
}

// In place of those of Chart.js, whose logarithmic ones are all digits and whose steps of bytes are round in tens only.
function setTicks(scale, logarithmic, bytes) {
  if (logarithmic) scale.ticks = logarithmicTicks(scale.min, scale.max).map(value => ({ value }));
  if (logarithmic || !bytes) return;
  const { min, max } = scale.getUserBounds(), unit = 1024 ** unitOf([scale.min, scale.max]);
  const range = scale.getMinMax(false);
  const [low, high] = [min, max].every(Number.isFinite) ? [min, max] : range.max > range.min ? [range.min, range.max] : [scale.min, scale.max];
  const ticks = roundTicks(low / unit, high / unit).map(value => value * unit);
  if (!Number.isFinite(min)) [scale.min, scale.max] = [ticks[0], ticks.at(-1)];
  scale.ticks = ticks.filter(value => value >= scale.min && value <= scale.max).map(value => ({ value }));
}

function applyAxes(chart, name) {
  chart.options.scales.x = axis(state.logX, "step");
  chart.options.scales.x.ticks.precision = 0;  // no half steps
  chart.options.scales.y = axis(state.logY, "", name);
  if (!state.zoom) return;
  Object.assign(chart.options.scales.x, { min: state.zoom[0], max: state.zoom[1] });
  const seen = chart.data.datasets.filter(set => !set.hidden).flatMap(set => set.data)
    .filter(point => point.x >= state.zoom[0] && point.x <= state.zoom[1] && point.y != null).map(point => point.y);
  if (!seen.length) return;
  const [low, high] = [seen.reduce((a, b) => Math.min(a, b)), seen.reduce((a, b) => Math.max(a, b))];
  const margin = state.logY ? 0 : (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  Object.assign(chart.options.scales.y, { min: low - margin, max: high + margin });
}

function update(name) {
  const chart = charts.get(name);
  chart.setActiveElements([]);
  chart.data.datasets = datasets(name);
  chart.canvas.closest("figure").hidden = chart.data.datasets.length === 0;
  applyAxes(chart, name);
  chart.update("none");
  cursors.get(name)?.();
}

const drawCurves = () => [...charts.keys()].forEach(update);

function addChart(parent, name) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const box = element("div", { class: "canvas", tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": `Curves of ${name}`, "aria-describedby": "chart-keys" }, canvas);
  const output = element("output", { class: "values quiet" });
  const compareItems = (a, b) => compareValues(name, a.parsed.y, b.parsed.y) || a.datasetIndex - b.datasetIndex;
  parent.append(element("figure", { class: "chart", "data-series": name }, element("figcaption", {}, name), box, output));
  const chart = new Chart(canvas, {
    type: "line", data: { datasets: [] },
    options: {
      animation: false, parsing: false, normalized: true, maintainAspectRatio: false, scales: {},
      interaction: { mode: "nearest", axis: "x", intersect: false },
      plugins: {
        legend: { display: false },
        tooltip: {
          itemSort: compareItems, filter: (item, i, items) => items.filter(other => compareItems(other, item) < 0).length < TOLD_RUNS,
          callbacks: { title: items => items.length ? `step ${items[0].parsed.x}` : "", label: item => ` ${item.dataset.label}: ${formatOf(name)(item.parsed.y)}` },
        },
      },
    },
  });
  charts.set(name, chart);
  dragToZoom(box, chart);
  update(name);
  cursors.set(name, addCursor(box, chart, output, name));
}

const isSystem = name => name.startsWith("system/") || name.startsWith("time/");
const seriesNames = [...new Set(data.runs.flatMap(run => Object.keys(run.curves)))].sort();
// What people look for first comes first: what runs are compared by, then losses.
const firstSeries = [...data.columns.map(column => column.series).filter(Boolean), "val/loss", "train/loss"];
const lastSeries = ["grad_norm", "lr", "tokens_per_s", "step_ms", "mfu"];
const importance = name => firstSeries.indexOf(name) + 1 || firstSeries.length + 2 + lastSeries.indexOf(name);

// --- parameters ---------------------------------------------------------------------------------------

function drawDifferences() {
  const runs = shownRuns().slice(0, 30);
  const differing = parameterColumns.filter(i => new Set(runs.map(run => data.rows[run][i][1])).size > 1);
  const cell = (tag, text, attributes) => element(tag, { ...attributes, class: isLong(text) ? "long" : "" }, text);
  const table = some => {
    const head = element("tr", {}, element("th", { scope: "col" }, "Setting"), ...some.map(run => cell("th", data.runs[run].name, { scope: "col" })));
    const rows = differing.map(i => element("tr", {}, element("th", { scope: "row" }, data.columns[i].key), ...some.map(run => cell("td", data.rows[run][i][1]))));
    return element("tbody", {}, head, ...rows);
  };
  const none = element("tr", {}, element("td", {}, runs.length > 1 ? "None: these runs have the same settings." : "Show two runs or more to compare them."));
  const most = differing.length && state.onPaper ? runsAcrossPaper(runs, differing) : runs.length;
  const count = Math.ceil(runs.length / (most || 1)), each = Math.ceil(runs.length / (count || 1));
  const parts = Array.from({ length: count }, (_, i) => table(runs.slice(i * each, (i + 1) * each)));
  byId("differences").replaceChildren(...(differing.length ? parts : [none]));
}

function runsAcrossPaper(runs, differing) {
  const head = Math.max(...differing.map(i => paperWidth(data.columns[i].key)));
  const run = Math.max(...runs.flatMap(run => [data.runs[run].name, ...differing.map(i => data.rows[run][i][1])]).map(paperWidth));
  return Math.max(Math.floor((PAPER.width - head) / run), 1);
}

const pointValue = (run, column) => {
  const cell = data.rows[run][column];
  return typeof cell[0] === "number" ? cell[0] : null;
};
const isNumeric = column => data.rows.every((row, run) => row[column][1] === "" || row[column][1] === "nan" || pointValue(run, column) !== null);

function spansDecades(column) {
  const numbers = data.rows.map((row, run) => pointValue(run, column)).filter(value => value !== null);
  return numbers.length > 0 && Math.min(...numbers) > 0 && Math.max(...numbers) / Math.min(...numbers) >= 30;
}

let scatter = null;

function drawScatter() {
  const [x, y] = [Number(byId("scatter-x").value), Number(byId("scatter-y").value)];
  if (!parameterColumns.length || !resultColumns.length) return;
  const numeric = isNumeric(x);
  const labels = numeric ? [] : [...new Set(state.listed.map(run => data.rows[run][x][1]))].sort();
  const points = state.listed.map(run => ({ run, x: numeric ? pointValue(run, x) : data.rows[run][x][1], y: pointValue(run, y) }))
    .filter(point => point.x !== null && point.y !== null);
  const colors = points.map(point => state.shown.has(point.run) ? colorOf(point.run) : css("--quiet"));
  byId("scatter-title").textContent = `${data.columns[y].title} against ${data.columns[x].key}`;
  byId("scatter").setAttribute("aria-label", byId("scatter-title").textContent);
  const horizontal = numeric ? axis(byId("scatter-log-x").checked, data.columns[x].key, data.columns[x].series)
    : { ...axis(false, data.columns[x].key), type: "category", labels, ticks: { color: css("--quiet") }, afterBuildTicks: undefined };
  scatter?.destroy();
  scatter = new Chart(byId("scatter"), {
    type: "scatter", data: { datasets: [{ data: points, pointBackgroundColor: colors, pointBorderColor: css("--card"), pointRadius: 5 }] },
    options: {
      animation: false, maintainAspectRatio: false, scales: { x: horizontal, y: axis(byId("scatter-log-y").checked, data.columns[y].title, data.columns[y].series) },
      plugins: { legend: { display: false }, tooltip: { callbacks: { label: item => ` ${data.runs[item.raw.run].name}: ${format(item.raw.y)}` } } },
    },
  });
}

// One axis a parameter that differs and one for the result; a line a run, good results in the accent's color.
function drawParallel() {
  const y = Number(byId("scatter-y").value);
  const axes = [...parameterColumns.slice(0, 7), y].filter(i => i >= 0);
  const room = state.onPaper ? PAPER.width : byId("parallel").clientWidth;
  const short = text => text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text;
  const scales = axes.map(column => {
    if (!isNumeric(column)) {
      const words = [...new Set(state.listed.map(run => data.rows[run][column][1]))].sort();
      return { ends: [words[0] ?? "", words.at(-1) ?? ""], at: run => words.length < 2 ? 0.5 : words.indexOf(data.rows[run][column][1]) / (words.length - 1) };
    }
    const values = state.listed.map(run => pointValue(run, column)).filter(value => value !== null);
    const [low, high] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
    const log = low > 0 && high / low >= 30 ? Math.log : value => value;
    const share = value => high === low ? 0.5 : (log(value) - log(low)) / (log(high) - log(low));
    return { ends: values.length ? formatTogether([low, high], isBytes(data.columns[column].series)) : ["", ""], at: run => pointValue(run, column) === null ? null : share(pointValue(run, column)) };
  });
  // No text runs into the next, and none is scaled down: what is wider than its place scrolls.
  const letters = Math.max(...axes.flatMap((column, i) => [data.columns[column].title, ...scales[i].ends]).map(text => short(text).length), 0);
  const between = Math.max(letters * 6.5 + 8, 60);
  const [width, height, top, bottom] = [Math.max(room, axes.length * between), 272, 34, 26];
  const place = axes.map((column, i) => between / 2 + i * (width - between) / Math.max(axes.length - 1, 1));
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Settings and result of each run" });
  for (const run of state.listed.slice(0, 500)) {
    const heights = scales.map(scale => scale.at(run));
    if (heights.includes(null)) continue;
    const points = heights.map((share, i) => `${place[i]},${height - bottom - share * (height - top - bottom)}`).join(" ");
    const line = svg("polyline", { class: "run", points, stroke: state.shown.has(run) ? colorOf(run) : css("--quiet") });
    line.append(svg("title", {}, `${data.runs[run].name}: ${data.rows[run][y]?.[1] ?? ""}`));
    root.append(line);
  }
  const label = (i, y, text, attributes = {}) => {
    const node = svg("text", { ...attributes, x: place[i], y, "text-anchor": "middle" }, short(text));
    if (short(text) !== text) node.append(svg("title", {}, text));
    return node;
  };
  axes.forEach((column, i) => root.append(
    svg("line", { class: "axis", x1: place[i], x2: place[i], y1: top, y2: height - bottom }),
    label(i, 14, data.columns[column].title, { class: "name" }),
    label(i, top - 6, scales[i].ends[1]),
    label(i, height - bottom + 15, scales[i].ends[0])));
  byId("parallel").replaceChildren(root);
}

// --- samples ------------------------------------------------------------------------------------------

function drawSamples() {
  const runs = shownRuns().filter(run => data.runs[run].samples.length);
  byId("samples-section").hidden = !data.runs.some(run => run.samples.length);
  byId("samples").replaceChildren(...(runs.length ? runs.slice(0, 20).map((run, i) => {
    const texts = data.runs[run].samples.flatMap(([name, text]) => [element("p", { class: "quiet" }, name), element("pre", {}, text)]);
    return element("details", i === 0 || state.onPaper ? { open: "" } : {}, element("summary", {}, data.runs[run].name), ...texts);
  }) : [element("p", { class: "quiet" }, "None of the shown runs has samples.")]));
}

// --- the whole ----------------------------------------------------------------------------------------

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light theme" : "Dark theme";
}

function addSystemCharts() {
  if (!byId("system").children.length) seriesNames.filter(isSystem).forEach(name => addChart(byId("system"), name));
}

const allCharts = () => [...charts.values(), ...(scatter ? [scatter] : [])];

// Paper is white, also for those who read in the dark, and shows what is closed. Printing lays the page out anew without telling
// the charts; so they are drawn before, in about the size they will have.
function followPaper() {
  let before = null;
  const details = () => [...document.querySelectorAll("details")];
  const enter = () => {
    if (state.onPaper) return;
    state.onPaper = true;
    before = { theme: theme(), open: details().map(node => node.open) };
    setTheme("light");
    byId("system-details").open = true;
    addSystemCharts();
    redrawAll();
    for (const chart of allCharts()) {
      chart.options.devicePixelRatio = 2;
      chart.resize(chart === scatter ? PAPER.width : PAPER.column, PAPER.height);
    }
  };
  const leave = () => {
    if (!state.onPaper) return;
    state.onPaper = false;
    setTheme(before.theme);
    redrawAll();
    for (const chart of allCharts()) {
      chart.options.devicePixelRatio = undefined;
      chart.resize();
    }
    details().forEach((node, i) => { node.open = before.open[i]; });
  };
  // The event comes before the pages are counted; the medium changes without one where it is only looked at.
  const paper = matchMedia("print");
  addEventListener("beforeprint", enter);
  addEventListener("afterprint", leave);
  paper.addEventListener("change", () => paper.matches ? enter() : leave());
  if (paper.matches) enter();
}

function start() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  byId("title").textContent = data.title;
  byId("origin").textContent = `${data.store} · ${data.written} · ${data.command}`;
  document.title = data.title;
  listRuns();
  byId("filter").addEventListener("input", () => {
    state.rowLimit = ROWS_AT_ONCE;
    listRuns();
    drawTable();
    drawScatter();
    drawParallel();
  });
  byId("more").addEventListener("click", () => {
    state.rowLimit += 1000;
    drawTable();
  });
  byId("show-best").addEventListener("click", () => showOnly(state.listed.slice(0, SHOWN_AT_FIRST)));
  byId("show-all").addEventListener("click", () => showOnly(state.listed));
  byId("show-none").addEventListener("click", () => showOnly([]));
  byId("smoothing").addEventListener("input", event => {
    state.smoothing = Number(event.target.value);
    byId("smoothing-value").textContent = state.smoothing.toFixed(2);
    drawCurves();
  });
  for (const [id, key] of [["log-x", "logX"], ["log-y", "logY"]]) byId(id).addEventListener("change", event => {
    state[key] = event.target.checked;
    drawCurves();
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(ZOOM));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / ZOOM));
  byId("reset-zoom").addEventListener("click", () => zoomTo(null));
  for (const [id, text] of [["of-data", data.of_data], ["of-curves", data.of_curves], ["of-samples", data.of_samples]]) {
    byId(id).textContent = text;
    byId(id).hidden = text === "";
  }
  for (const [id, columns] of [["scatter-x", parameterColumns], ["scatter-y", resultColumns]]) {
    byId(id).append(...columns.map(i => element("option", { value: i }, data.columns[i].title)));
    byId(id).addEventListener("change", () => { drawScatter(); drawParallel(); });
  }
  // To begin with, the parameter of which most values were tried.
  const values = column => new Set(data.rows.map(row => row[column][1])).size;
  byId("scatter-x").value = parameterColumns.reduce((a, b) => values(b) > values(a) ? b : a, parameterColumns[0]);
  byId("scatter-log-x").checked = spansDecades(Number(byId("scatter-x").value));
  for (const id of ["scatter-log-x", "scatter-log-y"]) byId(id).addEventListener("change", drawScatter);
  byId("parameters-section").hidden = data.rows.length < 2 || !parameterColumns.length || !resultColumns.length;
  byId("theme").addEventListener("click", () => { setTheme(theme() === "dark" ? "light" : "dark"); redrawAll(); });
  seriesNames.filter(name => !isSystem(name)).sort((a, b) => importance(a) - importance(b) || (a < b ? -1 : 1)).forEach(name => addChart(byId("curves"), name));
  byId("system-section").hidden = !seriesNames.some(isSystem);
  byId("system-details").addEventListener("toggle", () => {
    if (byId("system-details").open) addSystemCharts();
  });
  redrawAll();
  let width = byId("parallel").clientWidth;
  new ResizeObserver(() => {
    if (width === byId("parallel").clientWidth) return;
    width = byId("parallel").clientWidth;
    drawParallel();
  }).observe(byId("parallel"));
  followPaper();
}

start();

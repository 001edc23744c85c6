"use strict";
// Looking closely at curves: zoom by dragging, with a finger too, by buttons and by keys; a cursor that arrow keys move, whose
// values are told in words. All charts show the same steps.

const ZOOM = 2;
const MANY_STEPS = 10;  // that the cursor goes with Shift
const FEWEST_STEPS = 2;  // that a chart shows
const TOLD_RUNS = 12;

function zoomTo(range) {
  if (range !== null && !range.every(Number.isFinite)) return;
  state.zoom = range;
  drawCurves();
}

const visibleSets = chart => chart.data.datasets.filter(set => !set.hidden && set.data.length);

// The first and the last step of all curves that are shown.
function wholeRange() {
  const ends = [...charts.values()].flatMap(visibleSets).flatMap(set => [set.data[0].x, set.data.at(-1).x]);
  return [ends.reduce((a, b) => Math.min(a, b), Infinity), ends.reduce((a, b) => Math.max(a, b), -Infinity)];
}

// `around`: a step that stays where it is; else the middle does.
function zoomBy(factor, around) {
  const [low, high] = wholeRange();
  if (!(low < high)) return;
  const inside = x => Math.min(Math.max(x, low), high);
  const [to, from] = state.logX ? [Math.log, Math.exp] : [x => x, x => x];
  const [first, last] = (state.zoom ?? [low, high]).map(x => to(inside(x)));
  const middle = around === undefined ? (first + last) / 2 : to(inside(around));
  const width = (last - first) / factor;
  if (width >= to(high) - to(low)) return zoomTo(null);
  const begin = Math.max(to(low), Math.min(middle + (first - middle) / factor, to(high) - width));
  const range = [from(begin), from(begin + width)];
  if (factor < 1 || range[1] - range[0] >= FEWEST_STEPS) zoomTo(range);
}

// Pixels of the chart's own area become steps.
function dragToZoom(box, chart) {
  let pointer = null, start = null, band = null;
  const inArea = x => Math.min(Math.max(x, chart.chartArea.left), chart.chartArea.right);
  const place = event => inArea(event.clientX - box.getBoundingClientRect().left);
  const drop = () => {
    band?.remove();
    pointer = start = band = null;
  };
  box.addEventListener("pointerdown", event => {
    if (pointer !== null) return drop();  // two fingers are no drag
    if (event.button !== 0) return;
    pointer = event.pointerId;
    start = place(event);
    band = box.appendChild(element("div", { class: "band" }));
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", event => {
    if (event.pointerId !== pointer) return;
    const now = place(event);
    band.style.left = `${Math.min(start, now)}px`;
    band.style.width = `${Math.abs(now - start)}px`;
  });
  box.addEventListener("pointerup", event => {
    if (event.pointerId !== pointer) return;
    const range = [start, place(event)].sort((a, b) => a - b).map(x => chart.scales.x.getValueForPixel(x));
    const wide = band.offsetWidth > 5;
    drop();
    if (wide) zoomTo(range);
  });
  box.addEventListener("pointercancel", event => {
    if (event.pointerId === pointer) drop();  // the finger scrolls the page
  });
  box.addEventListener("dblclick", () => zoomTo(null));
}

// The points of a chart at a step, as Chart.js names them.
function pointsAt(chart, step) {
  return chart.data.datasets.flatMap((set, datasetIndex) => {
    const index = set.hidden ? -1 : set.data.findIndex(point => point.x === step);
    return index < 0 ? [] : [{ datasetIndex, index }];
  });
}

function valuesInWords(chart, step, series) {
  const values = pointsAt(chart, step).map(({ datasetIndex, index }) => {
    const set = chart.data.datasets[datasetIndex];
    return { label: set.label, y: set.data[index].y };
  }).sort((a, b) => compareValues(series, a.y, b.y));
  const told = values.slice(0, TOLD_RUNS).map(({ label, y }) => `${label}: ${formatOf(series)(y)}`);
  const more = values.length > TOLD_RUNS ? [`${values.length - TOLD_RUNS} more`] : [];
  return `step ${step}: ${[...told, ...more].join("; ")}`;
}

// Returns what draws the cursor anew when the curves have changed.
function addCursor(box, chart, output, series) {
  let step = null, drawn = false;
  const steps = () => {
    const [low, high] = state.zoom ?? [-Infinity, Infinity];
    const all = new Set(visibleSets(chart).flatMap(set => set.data.map(point => point.x)));
    return [...all].filter(x => x >= low && x <= high).sort((a, b) => a - b);
  };
  const draw = () => {
    if (step === null && !drawn) return;
    drawn = step !== null;
    const points = drawn ? pointsAt(chart, step) : [];
    chart.setActiveElements(points);
    chart.tooltip.setActiveElements(points, { x: points.length ? chart.scales.x.getPixelForValue(step) : 0, y: chart.height / 2 });
    chart.update("none");
    output.textContent = points.length ? valuesInWords(chart, step, series) : "";
  };
  const moveTo = find => {
    const all = steps();
    const at = step === null ? -1 : all.findIndex(x => x >= step);
    step = all.length ? all[Math.min(Math.max(find(at, all.length), 0), all.length - 1)] : null;
    draw();
  };
  const keys = {
    ArrowRight: event => moveTo(at => at + (event.shiftKey ? MANY_STEPS : 1)),
    ArrowLeft: event => moveTo((at, count) => (at < 0 ? count : at) - (event.shiftKey ? MANY_STEPS : 1)),
    Home: () => moveTo(() => 0),
    End: () => moveTo((at, count) => count - 1),
    "+": () => zoomBy(ZOOM, step ?? undefined),
    "=": () => zoomBy(ZOOM, step ?? undefined),
    "-": () => zoomBy(1 / ZOOM, step ?? undefined),
    Escape: () => {
      step = null;
      zoomTo(null);
    },
  };
  box.addEventListener("keydown", event => {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key](event);
  });
  box.addEventListener("blur", () => {
    step = null;
    draw();
  });
  return draw;
}

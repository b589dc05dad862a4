// What plots over time share: one range of time, a cursor, and the instant under the pointer.

const COLUMNS = 1000; // of pixels, about as wide as the page

/** Plots over one time axis. They are zoomed together; `onPoint` gets the instant pointed at. */
function timeAxis(whole, onPoint) {
  const plots = [];
  let range = null, zooms = 0, instant = whole[0];

  const zoomTo = (asked) => {
    range = asked;
    zooms += 1;
    for (const plot of plots) plot.draw();
  };
  const layout = (more) => layoutOf({
    dragmode: touch ? false : "zoom",
    hovermode: "x unified",
    hoverdistance: -1,
    uirevision: "same",
    ...more,
    xaxis: axis("time (s)", {
      range: range ?? padded(whole), uirevision: zooms, hoverformat: ".1f", ...more.xaxis,
    }),
  });
  return {
    /** Draws into `place` what `make(from, to)` gives: traces and what is added to the layout. */
    add(place, make) {
      const cursor = document.createElement("div");
      const draw = () => {
        const { traces, ...more } = make(...(range ?? whole));
        makeRoom(place, traces);
        Plotly.react(place, traces, layout(more), CONFIG);
      };
      const moveCursor = () => placeCursor(cursor, place, instant);
      themed(draw);
      cursor.className = "cursor";
      place.append(cursor);
      place.on("plotly_afterplot", moveCursor);
      place.on("plotly_relayout", (change) => {
        const asked = rangeOf(change);
        if (asked !== undefined) zoomTo(asked);
      });
      place.on("plotly_hover", ({ points, xvals }) => onPoint(xvals?.[0] ?? points[0].x));
      place.on("plotly_click", ({ points }) => onPoint(points[0].x));
      plots.push({ draw, moveCursor });
      moveCursor();
    },
    moveTo(seconds) { instant = seconds; for (const plot of plots) plot.moveCursor(); },
    redraw() { for (const plot of plots) plot.draw(); },
  };
}

/** The line at an instant, over the plot: moving it draws nothing again. */
function placeCursor(cursor, place, instant) {
  const { xaxis, _size: size } = place._fullLayout;
  const along = xaxis.l2p(instant);
  cursor.hidden = !(along >= 0 && along <= xaxis._length);
  cursor.dataset.instant = instant;
  Object.assign(cursor.style, {
    left: `${xaxis._offset + along}px`, top: `${size.t}px`, height: `${size.h}px`,
  });
}

/** First and last instant of all tracks. */
const wholeTime = (tracks) => [
  Math.min(...tracks.map(({ time }) => time[0])),
  Math.max(...tracks.map(({ time }) => time[time.length - 1])),
];

const padded = ([from, to]) => {
  const room = 0.01 * (to - from) || 1;
  return [from - room, to + room];
};

/** The range that was zoomed to, null for the whole, undefined where time was not touched. */
function rangeOf(change) {
  if (change["xaxis.autorange"]) return null;
  if (change["xaxis.range"]) return change["xaxis.range"];
  if ("xaxis.range[0]" in change) return [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  return undefined;
}

const STRAY = 30; // times: values this far beyond 99.5 % of a series do not widen the axis

/** Range and ticks of a logarithmic axis: no stray value, and no lost track, flattens the rest. */
function decades(tracks, names, write = plainNumber) {
  const series = tracks.flatMap((track) => names.map((name) => track[name] ?? []));
  const ends = series.map(bulkOf).filter(Boolean);
  if (!ends.length) return { exponentformat: "power" };
  const low = Math.min(...ends.map(([least]) => least));
  const tops = ends.map(([, most]) => most).sort((a, b) => a - b);
  const high = Math.min(tops[tops.length - 1], 1e3 * tops[(tops.length - 1) >> 1]);
  const span = Math.log10(high / low) || 1, first = Math.floor(Math.log10(low)) - 1;
  const step = Math.ceil(span / 5), steps = span < 0.6 ? [1, 1.5, 2, 3, 4, 5, 7] : span < 1.7 ? [1, 2, 5] : [1];
  const tickvals = Array.from({ length: Math.ceil(span) + 3 }, (_, i) => first + i)
    .filter((power) => power % step === 0).flatMap((power) => steps.map((each) => each * 10 ** power));
  return {
    range: [Math.log10(low) - 0.06 * span, Math.log10(high) + 0.06 * span],
    tickvals, ticktext: tickvals.map(write),
  };
}

/** '0.02', '1,000'; powers of ten beyond that. */
const plainNumber = (value) => (value >= 1e-3 && value < 1e6
  ? Number(value.toPrecision(2)).toLocaleString("en", { maximumFractionDigits: 4 })
  : `10<sup>${Math.round(Math.log10(value))}</sup>`);

/** Least and largest positive value of a series, without values that stray from the rest. */
function bulkOf(values) {
  const sorted = Float32Array.from(values).filter((value) => value > 0).sort();
  if (!sorted.length) return null;
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = [at(0.005), at(0.995)];
  return [Math.max(sorted[0], low / 3), Math.min(sorted[sorted.length - 1], STRAY * high)];
}

/** A line of a series between two instants, broken where there is a gap. */
function seriesLine(series, name, among, from, to, more) {
  const scans = thinned(series.time, among.map((each) => series[each]), from, to, COLUMNS);
  const x = broken(series, scans, (i) => series.time[i]);
  const y = broken(series, scans, (i) => series[name][i]);
  return { type: "scatter", x, y, ...lineMode(x, 4), hovertemplate: "%{y:.3g}", ...more };
}

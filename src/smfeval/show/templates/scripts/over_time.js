// Error, claimed sigma and NEES over time: one figure, one time axis, more detail when zoomed in.

const COLUMNS = 1000; // of pixels, about as wide as the page

function overTime(place, tracks, words, onChoose) {
  const believes = tracks.some((track) => track.nees);
  const whole = [
    Math.min(...tracks.map((track) => track.time[0])),
    Math.max(...tracks.map((track) => track.time[track.time.length - 1])),
  ];
  let range = null, chosen = 0, instant = tracks[0].time[0];
  place.classList.toggle("single", !believes);

  const traces = () => {
    const [from, to] = range ?? whole;
    const shown = together(tracks, chosen, words);
    const lines = shown.flatMap(([track, n]) => linesOf(track, n, from, to, words));
    const lawful = tracks[chosen].nees ? tracks[chosen] : tracks.find((track) => track.nees);
    return [...(lawful ? bandOf(lawful, from, to) : []), ...lines];
  };
  const layout = () => layoutOf({
    dragmode: touch ? false : "zoom",
    hovermode: "closest",
    uirevision: "same",
    xaxis: axis("time (s)", { anchor: believes ? "y2" : "y", range: range ?? padded(whole) }),
    yaxis: axis(`${words.error} (m)`, {
      type: "log", domain: believes ? [0.54, 1] : [0, 1], ...decades(tracks, ["distance", "sigma"]),
    }),
    ...(believes && {
      yaxis2: axis("NEES", { type: "log", domain: [0, 0.46], ...decades(tracks, ["nees"]) }),
    }),
    shapes: [cursorAt(instant)],
  });
  const draw = () => Plotly.react(place, traces(), layout(), CONFIG);

  themed(draw);
  place.on("plotly_relayout", (change) => {
    const asked = rangeOf(change);
    if (asked !== undefined) { range = asked; draw(); }
  });
  place.on("plotly_click", ({ points }) => onChoose(points[0].x));
  return {
    choose(n) { chosen = n; draw(); },
    moveTo(seconds) { instant = seconds; Plotly.relayout(place, { shapes: [cursorAt(seconds)] }); },
  };
}

/** The line at the instant that the slider is at. */
const cursorAt = (instant) => ({
  type: "line", xref: "x", yref: "paper", x0: instant, x1: instant, y0: 0, y1: 1,
  line: { color: colour("accent"), width: 1.5 },
});

/** Ticks of a logarithmic axis: at 1, 2 and 5 where it spans little more than one decade. */
function decades(tracks, names) {
  let least = Infinity, most = 0;
  for (const values of tracks.flatMap((track) => names.map((name) => track[name] ?? []))) {
    for (const value of values) {
      if (value > 0 && value < least) least = value;
      if (value > most) most = value;
    }
  }
  return { exponentformat: "power", dtick: most / least > 50 ? 1 : "D2" };
}

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

function linesOf(track, n, from, to, words) {
  const series = track.nees ? [track.distance, track.sigma, track.nees] : [track.distance];
  const scans = thinned(track.time, series, from, to, COLUMNS);
  const x = broken(track, scans, (i) => track.time[i]);
  const look = lineOf(n), name = legendName(track.short);
  const line = (values, more) => ({
    type: "scatter", x, y: broken(track, scans, (i) => values[i]), ...lineMode(x, 4),
    legendgroup: String(n), hoverinfo: "x+y+name", ...more,
  });
  const error = line(track.distance, {
    name: `${name}: ${words.error}`, line: { ...look, width: 1.4 },
  });
  if (!track.nees) return [error];
  return [
    error,
    line(track.sigma, {
      name: `${name}: ${words.sigma}`, line: { color: look.color, width: 1.2, dash: "dot" },
    }),
    line(track.nees, {
      name: `${name}: NEES`, yaxis: "y2", showlegend: false, line: { ...look, width: 1 },
    }),
  ];
}

/** Where the NEES of an honest belief lies in 95 % of scans, and its median. */
function bandOf(track, from, to) {
  const ends = track.honest.middle.length > 1
    ? thinned(track.time, [track.honest.middle], from, to, COLUMNS)
    : [0, track.time.length - 1];
  const x = ends.map((i) => track.time[i]);
  const edge = (name, more) => ({
    type: "scatter", mode: "lines", yaxis: "y2", x, y: ends.map((i) => honestAt(track, name, i)),
    hoverinfo: "skip", showlegend: false, line: { width: 0, color: colour("quiet") }, ...more,
  });
  return [
    edge("low", {}),
    edge("high", {
      fill: "tonexty", fillcolor: "rgba(128,136,148,.22)", showlegend: true,
      name: "NEES if honest: 95 %",
    }),
    edge("middle", {
      line: { width: 1, dash: "dash", color: colour("quiet") }, showlegend: true,
      name: "NEES if honest: median",
    }),
  ];
}

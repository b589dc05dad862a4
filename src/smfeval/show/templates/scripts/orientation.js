// Rotation error and claimed sigma of all tracks, and NEES by space of the one that is looked at.

function orientationOverTime(place, tracks, told, onChoose) {
  const found = told.map((each) => each && {
    rotation: unpackedSeries(each.rotation, ["error", "sigma"]),
    nees: each.nees.map((space) => unpackedSeries(space, ["ratio"])),
  });
  const scored = found.filter(Boolean);
  const times = tracks.map((track) => track.time);
  const whole = [
    Math.min(...times.map((time) => time[0])),
    Math.max(...times.map((time) => time[time.length - 1])),
  ];
  let range = null, chosen = 0, instant = whole[0];
  const who = () => (tracks.length > 1 ? `${legendName(tracks[chosen].short)}: ` : "");

  const traces = () => {
    const [from, to] = range ?? whole;
    const spaces = found[chosen]?.nees ?? [];
    return [
      ...found.flatMap((each, n) => (each ? rotationLines(each.rotation, tracks[n], n, from, to) : [])),
      ...spaces.map((space, n) => ratioLine(space, who(), tracks.length + n, from, to)),
      {
        type: "scatter", mode: "lines", name: "median if honest", yaxis: "y2", hoverinfo: "skip",
        x: [from, to], y: [1, 1], line: { color: colour("quiet"), dash: "dash", width: 1 },
      },
    ];
  };
  const layout = () => layoutOf({
    dragmode: touch ? false : "zoom",
    hovermode: "closest",
    uirevision: "same",
    xaxis: axis("time (s)", { anchor: "y2", range: range ?? padded(whole) }),
    yaxis: axis("rotation error (deg)", {
      type: "log", domain: [0.54, 1],
      ...decades(scored.map((each) => each.rotation), ["error", "sigma"]),
    }),
    yaxis2: axis("NEES / honest median", {
      type: "log", domain: [0, 0.46], ...decades(scored.flatMap((each) => each.nees), ["ratio"]),
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

function unpackedSeries(told, names) {
  const values = ["time", ...names].map((name) => [name, unpacked(told[name])]);
  return { ...told, ...Object.fromEntries(values) };
}

/** A line of one of the series, broken where there is a gap. */
function seriesLine(series, name, among, from, to, more) {
  const scans = thinned(series.time, among.map((each) => series[each]), from, to, COLUMNS);
  const x = broken(series, scans, (i) => series.time[i]);
  const y = broken(series, scans, (i) => series[name][i]);
  return { type: "scatter", x, y, ...lineMode(x, 4), hoverinfo: "x+y+name", ...more };
}

function rotationLines(rotation, track, n, from, to) {
  const look = lineOf(n), name = legendName(track.short), both = ["error", "sigma"];
  return [
    seriesLine(rotation, "error", both, from, to, {
      name: `${name}: rotation error`, legendgroup: String(n), line: { ...look, width: 1.4 },
    }),
    seriesLine(rotation, "sigma", both, from, to, {
      name: `${name}: claimed sigma`, legendgroup: String(n),
      line: { color: look.color, width: 1.2, dash: "dot" },
    }),
  ];
}

/** Spaces have colours of their own, after those of the tracks. */
const ratioLine = (space, who, n, from, to) => seriesLine(space, "ratio", ["ratio"], from, to, {
  name: `${who}NEES of ${space.space} (${label(space.axes)})`, yaxis: "y2",
  line: { ...lineOf(n), width: 1 },
});

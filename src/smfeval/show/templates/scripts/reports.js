// Plots of the pages of `sweep` and `check`: knobs that are turned, a track by itself.

const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x"];

/** Median NEES and mean error over precision: all runs, the value at each mark, both predictions. */
function sweepPlot(place, told) {
  const namesOf = (key) => [...new Set(told.lines.map((line) => line[key]))];
  const estimators = namesOf("estimator"), knobs = namesOf("knob");
  // Lines of one estimator have one colour and one name.
  const marks = (line, at, values, more) => {
    const n = estimators.indexOf(line.estimator);
    const isFirst = told.lines.findIndex((each) => each.estimator === line.estimator) === at;
    return {
      type: "scatter", mode: "lines+markers", x: line.precision, y: values,
      name: legendName(line.estimator), legendgroup: String(n), showlegend: isFirst,
      text: line.values.map((value) => label(`${line.knob} ${value}`)),
      line: { color: lineOf(n).color, width: 1 }, cliponaxis: false,
      marker: { size: 8, color: lineOf(n).color, opacity: 0.8, symbol: SYMBOLS[knobs.indexOf(line.knob) % SYMBOLS.length] },
      hovertemplate: `%{text}: %{y:.3g} at %{x:.3g} nat<extra>${legendName(line.name)}</extra>`, ...more,
    };
  };
  const predicted = ({ estimator, name, of, ends }, at) => ({
    type: "scatter", mode: "lines", x: ends[0], y: ends[1], hoverinfo: "skip", name,
    legendgroup: name, showlegend: told.predictions.findIndex((each) => each.name === name) === at,
    yaxis: of === "nees" ? "y" : "y2",
    line: { color: lineOf(estimators.indexOf(estimator)).color, width: 1, dash: name === "errors stay" ? "dot" : "dash" },
  });
  const ends = endsOf(told.lines.flatMap((line) => line.precision));
  const draw = () => Plotly.react(place, [
    {
      type: "scatter", mode: "lines", name: "NEES if consistent", x: ends, hoverinfo: "skip",
      y: [told.honest, told.honest], line: { color: colour("quiet"), width: 1 },
    },
    ...told.lines.map((line, n) => marks(line, n, line.nees, {})),
    ...told.lines.map((line, n) => marks(line, n, line.error, { yaxis: "y2", showlegend: false })),
    ...told.predictions.map(predicted),
  ], layoutOf({
    dragmode: touch ? false : "zoom", hovermode: "closest",
    xaxis: axis("precision, -log det S (nat)", { anchor: "y2" }),
    yaxis: axis("median NEES", {
      type: "log", domain: [0.54, 1], ...decades(told.lines, ["nees"]),
    }),
    yaxis2: axis("mean error", {
      type: "log", domain: [0, 0.46], ...decades(told.lines, ["error"], length),
    }),
  }), CONFIG);
  themed(draw);
}

/** A track from above in the colour of its sigma, and its sigma over time. */
async function showPath(told) {
  const track = unpackedPath(told), looked = { chosen: 0, scan: 0, all: true };
  const words = { error: "reported sigma", alone: true };
  const pointAt = (instant) => {
    looked.scan = nearest(track.time, instant);
    time.moveTo(track.time[looked.scan]);
    view.moveTo();
  };
  const time = timeAxis(wholeTime([track]), pointAt);
  const view = topView(element("top-view"), [track], words, looked, pointAt);
  await breath();
  if (!track.most) return;
  const names = { most: "least certain direction", least: "most certain direction" };
  time.add(element("over-time"), (from, to) => ({
    traces: Object.entries(names).map(([name, text], n) =>
      seriesLine(track, name, ["most", "least"], from, to, { name: text, line: lineOf(n) })),
    yaxis: axis("", { type: "log", ...decades([track], ["most", "least"], length) }),
  }));
}

/** A track by itself as the top view takes it: its sigma in the place of an error. */
function unpackedPath(told) {
  const track = { ...told, time: unpacked(told.time), position: unpacked(told.position) };
  track.error = new Float32Array(track.position.length);
  track.distance = track.time.map(() => 0);
  if (!told.most) return track;
  [track.most, track.least, track.distance] = [unpacked(told.most), unpacked(told.least), unpacked(told.total)];
  return track;
}

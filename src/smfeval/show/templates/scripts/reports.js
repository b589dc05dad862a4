// Plots of the pages of `sweep` and `check`: a knob that is turned, a track by itself.

/** Median NEES and mean error over precision, with the knob's value at each mark. */
function knobPlot(place, told) {
  const estimators = [...new Set(told.lines.map((line) => line.estimator))];
  // Lines of one estimator have one colour and one name; the first has the values at its marks.
  const marks = (line, at, values, more) => {
    const n = estimators.indexOf(line.estimator);
    const isFirst = told.lines.findIndex((each) => each.estimator === line.estimator) === at;
    return {
      type: "scatter", mode: isFirst ? "lines+markers+text" : "lines+markers", x: line.precision, y: values,
      name: legendName(line.estimator), legendgroup: String(n), showlegend: isFirst, text: line.values.map(label),
      textposition: n % 2 ? "bottom center" : "top center", textfont: { size: 11, color: lineOf(n).color },
      line: { ...lineOf(n), width: 1 }, marker: { size: 8, color: lineOf(n).color, opacity: 0.8 }, cliponaxis: false,
      hovertemplate: `%{text}: %{y:.3g} at %{x:.3g} nat<extra>${legendName(line.name)}</extra>`, ...more,
    };
  };
  const ends = endsOf(told.lines.flatMap((line) => line.precision));
  const draw = () => Plotly.react(place, [
    {
      type: "scatter", mode: "lines", name: "NEES if honest", x: ends, hoverinfo: "skip",
      y: [told.honest, told.honest], line: { color: colour("quiet"), dash: "dash", width: 1 },
    },
    ...told.lines.map((line, n) => marks(line, n, line.nees, {})),
    ...told.lines.map((line, n) => marks(line, n, line.error, { yaxis: "y2", showlegend: false })),
  ], layoutOf({
    dragmode: touch ? false : "zoom", hovermode: "closest",
    xaxis: axis("precision, -log det S (nat)", { anchor: "y2" }),
    yaxis: axis("median NEES", {
      type: "log", domain: [0.54, 1], ...decades(told.lines, ["nees"]),
    }),
    yaxis2: axis("mean error (m)", {
      type: "log", domain: [0, 0.46], ...decades(told.lines, ["error"]),
    }),
  }), CONFIG);
  themed(draw);
}

/** A track in space with its ellipsoids, and its sigma over time; pointing marks the scan in both. */
async function showPath(told) {
  const track = unpackedPath(told);
  const factor = track.covariance ? magnification({ ...track, nees: [] }) : 1;
  const mark = { scan: 0 };
  const here = () => ({
    type: "scatter3d", mode: "markers", ...columnsOf([placeOf(track, mark.scan)]),
    name: "this scan", marker: { size: 6, color: colour("text") }, hoverinfo: "skip",
  });
  const place = element("scene");
  const draw = () => Plotly.react(place, [
    pathOf(track, 0, 0, { error: "reported sigma" }),
    ...(track.covariance ? [ellipsoidsOf(track, factor)] : []), here(),
  ], layoutOf({
    uirevision: "same", margin: { l: 0, r: 0, t: 0, b: 0 },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "top", font: { size: 12 } },
    scene: roomFor(referencePoints(track), AXES.map((name, i) => name + away(track, i)), place),
  }), CONFIG);
  const pointAt = (instant) => {
    mark.scan = nearest(track.time, instant);
    time.moveTo(track.time[mark.scan]);
    const moved = here();
    Plotly.restyle(place, { x: [moved.x], y: [moved.y], z: [moved.z] }, [place.data.length - 1]);
  };
  const time = timeAxis(wholeTime([track]), pointAt);
  themed(draw);
  place.on("plotly_hover", ({ points }) => points[0].customdata && pointAt(points[0].customdata[0]));
  await breath();
  if (!track.covariance) return;
  const names = { most: "least certain direction", least: "most certain direction" };
  time.add(element("over-time"), (from, to) => ({
    traces: Object.entries(names).map(([name, text], n) =>
      seriesLine(track, name, ["most", "least"], from, to, { name: text, line: lineOf(n) })),
    yaxis: axis("reported sigma (m)", { type: "log", ...decades([track], ["most", "least"]) }),
  }));
}

/** A track by itself as the plots of tracks in space take it: without errors. */
function unpackedPath(told) {
  const track = { ...told, time: unpacked(told.time), position: unpacked(told.position) };
  track.error = new Float32Array(track.position.length);
  track.distance = track.time.map(() => 0);
  if (!told.covariance) return track;
  track.covariance = unpacked(told.covariance);
  track.sigma = track.time.map((_, i) => rootOfTrace(track.covariance.subarray(6 * i, 6 * i + 6)));
  track.distance = track.sigma;
  [track.most, track.least] = [unpacked(told.most), unpacked(told.least)];
  return track;
}

const PATH_RADIUS = Math.sqrt(7.8147); // chi-squared, three axes, 95 %

function ellipsoidsOf(track, factor) {
  const shapes = evenScans(track).map((scan) => ({
    root: rootOf(track.covariance, scan), radius: factor * PATH_RADIUS, centre: placeOf(track, scan),
  }));
  return {
    type: "mesh3d", name: ellipsoidName(factor), showlegend: true, hoverinfo: "skip",
    ...surface(shapes, 16, 8), opacity: 0.45, color: colour("accent"),
  };
}

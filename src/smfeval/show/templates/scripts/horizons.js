// k of relative motion over the duration of the windows, with its interval; both logarithmic.

function horizonCurves(place, tracks, horizons) {
  const draw = () => {
    const drawn = horizons.flatMap((rows, n) => (rows ? horizonCurve(rows, tracks[n].short, n) : []));
    const seconds = horizons.flatMap((rows) => (rows ? rows.seconds : []));
    const honest = {
      type: "scatter", mode: "lines", name: "if consistent", hoverinfo: "skip",
      x: [Math.min(...seconds), Math.max(...seconds)], y: [1, 1],
      line: { color: colour("quiet"), dash: "dash", width: 1 },
    };
    const layout = layoutOf({
      dragmode: false,
      hovermode: "closest",
      xaxis: axis("duration of the windows (s)", { type: "log", dtick: "D2" }),
      yaxis: axis("k of relative motion", { type: "log", dtick: "D2" }),
    });
    Plotly.react(place, [honest, ...drawn], layout, CONFIG);
  };
  themed(draw);
}

function horizonCurve(rows, name, n) {
  const look = lineOf(n);
  const above = rows.high.map((end, i) => (end === null ? 0 : end - rows.k[i]));
  const below = rows.low.map((end, i) => (end === null ? 0 : rows.k[i] - end));
  return [{
    type: "scatter", mode: "lines+markers", name: legendName(name),
    x: rows.seconds, y: rows.k, line: { ...look, width: 2 },
    error_y: { type: "data", array: above, arrayminus: below, color: look.color, thickness: 1 },
    marker: {
      size: 8, symbol: rows.usable.map((is) => (is ? "circle" : "circle-open")), color: look.color,
    },
    customdata: rows.k.map((_, i) => [rows.windows[i], rows.scans[i], rows.low[i], rows.high[i]]),
    hovertemplate: "k %{y:.3g} [%{customdata[2]:.3g}, %{customdata[3]:.3g}] over %{customdata[0]} "
      + "windows of %{customdata[1]} scans (%{x:.3g} s)<extra></extra>",
  }];
}

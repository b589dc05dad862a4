// Coverage: share of scans inside the region of each level, with its interval.

function coverageCurve(place, tracks, curves, looked) {
  const draw = () => {
    const honest = {
      type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], name: "if consistent", hoverinfo: "skip",
      line: { color: colour("quiet"), dash: "dash", width: 1 },
    };
    const lines = curves.flatMap((curve, n) => (curve ? curveOf(curve, tracks[n].short, n, n === looked.chosen) : []));
    const layout = layoutOf({
      dragmode: false,
      hovermode: "closest",
      xaxis: axis("nominal level", { range: [-0.01, 1.01], tickformat: ".0%" }),
      yaxis: axis("share of scans inside", { range: [-0.01, 1.01], tickformat: ".0%" }),
    });
    Plotly.react(place, [honest, ...lines], layout, CONFIG);
  };
  themed(draw);
  return { redraw: draw, moveTo() {} };
}

/** The curve, and the band of its interval if it is looked at: several would hide each other. */
function curveOf(curve, name, n, isChosen) {
  const look = lineOf(n);
  const known = curve.level.map((_, i) => i).filter((i) => curve.low[i] !== null);
  const edge = (ends, more) => ({
    type: "scatter", mode: "lines", x: known.map((i) => curve.level[i]),
    y: known.map((i) => ends[i]), line: { width: 0, color: look.color }, hoverinfo: "skip",
    showlegend: false, legendgroup: String(n), ...more,
  });
  return [
    ...(isChosen ? [edge(curve.low, {}), edge(curve.high, { fill: "tonexty", fillcolor: `${look.color}33` })] : []),
    {
      type: "scatter", mode: "lines+markers", name: legendName(name), legendgroup: String(n),
      x: [0, ...curve.level, 1], y: [0, ...curve.share, 1],
      marker: { size: 4 }, line: { ...look, width: 2 },
      hovertemplate: "level %{x:.0%}: holds %{y:.1%}<extra></extra>",
    },
  ];
}

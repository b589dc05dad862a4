// Every run of a study: one point for each track, one row for each estimator; their medians.

/** Whether the values are positive and too far apart for a linear axis. */
function spansDecades({ points }) {
  const values = points.map((point) => point[2]);
  return Math.min(...values) > 0 && Math.max(...values) > 50 * Math.min(...values);
}

function spread(place, select, told) {
  const draw = () => {
    const metric = told.metrics[Number(select.value)];
    const rows = told.names.map((name, n) => {
      const points = metric.points.filter(([estimator]) => estimator === name);
      return {
        type: "scatter", mode: "markers", name: legendName(name), showlegend: false,
        x: points.map((point) => point[2]),
        y: points.map((_, i) => n + 0.5 * (((i * 0.618) % 1) - 0.5)),
        text: points.map((point) => label(point[1])),
        hovertemplate: "%{text}: %{x:.4g}<extra></extra>",
        marker: { size: 9, opacity: 0.75, color: lineOf(n).color },
      };
    });
    const medians = Object.entries(metric.medians).map(([name, [value, low, high]]) => ({
      type: "scatter", mode: "markers", showlegend: false, x: [value], y: [told.names.indexOf(name)],
      hovertemplate: "median %{x:.4g}<extra></extra>",
      marker: { symbol: "line-ns", size: 26, line: { width: 3, color: colour("text") } },
      error_x: low === null ? undefined : {
        type: "data", symmetric: false, array: [high - value], arrayminus: [value - low],
        color: colour("text"), thickness: 1.5,
      },
    }));
    const honest = { type: "line", yref: "paper", x0: metric.honest, x1: metric.honest, y0: 0, y1: 1,
      line: { color: colour("quiet"), dash: "dash", width: 1 } };
    Plotly.react(place, [...rows, ...medians], layoutOf({
      dragmode: touch ? false : "zoom",
      hovermode: "closest",
      xaxis: axis(metric.title, metric.log || spansDecades(metric)
        ? { type: "log", ...decades([{ value: [...metric.points.map((point) => point[2]), metric.honest] }], ["value"]) }
        : { type: "linear" }),
      yaxis: axis("", {
        tickvals: told.names.map((_, n) => n), ticktext: told.names.map(legendName),
        range: [told.names.length - 0.5, -0.5],
      }),
      shapes: metric.honest === null ? [] : [honest],
      height: 130 + 60 * told.names.length,
    }), CONFIG);
    document.getElementById("left-out").textContent = metric.left
      ? `Not drawn, because not finite: ${metric.left} of ${metric.left + metric.points.length} runs.`
      : "";
  };
  themed(draw);
  select.addEventListener("change", draw);
}

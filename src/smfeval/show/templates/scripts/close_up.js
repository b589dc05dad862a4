// One scan, to scale: the ellipsoid about the estimate, and the reference inside it or outside.

const UNITS = [[1, "m"], [1e-2, "cm"], [1e-3, "mm"], [1e-6, "um"]];

function closeUp(place, tracks, words, looked) {
  const instead = place.parentElement.querySelector(".instead");
  const draw = () => {
    const track = tracks[looked.chosen];
    place.hidden = !track.nees;
    if (instead) instead.hidden = !place.hidden;
    if (place.hidden) return;
    const shown = closeUpOf(track, looked.scan, words);
    Plotly.react(place, shown.traces, layoutOf({
      uirevision: "same",
      margin: { l: 0, r: 0, t: 0, b: 0 },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "top", font: { size: 12 } },
      scene: cubeFor(shown.traces, AXES.map((name) => `${name} (${shown.unit})`)),
    }), CONFIG);
  };
  themed(draw);
  return { redraw: draw, moveTo: draw };
}

function closeUpOf(track, scan, words) {
  const root = rootOf(track.covariance, scan);
  const radius = Math.sqrt(honestAt(track, "region", scan));
  const reference = [...track.error.subarray(3 * scan, 3 * scan + 3)].map((value) => -value);
  const size = Math.max(...reference.map(Math.abs), radius * track.sigma[scan]);
  const [scale, unit] = UNITS.find(([one]) => size >= one) ?? UNITS[UNITS.length - 1];
  const inside = track.nees[scan] <= honestAt(track, "region", scan);
  const target = reference.map((value) => value / scale);
  const verdict = colour(inside ? "consistent" : "overconfident");
  return {
    unit,
    traces: [
      {
        type: "mesh3d", ...surface([{ root, radius: radius / scale }]), opacity: 0.25, color: colour("accent"),
        name: words.region, showlegend: true, hoverinfo: "skip",
      },
      {
        type: "scatter3d", mode: "lines", ...circles(root, radius / scale), hoverinfo: "skip",
        line: { color: colour("accent"), width: 2 }, showlegend: false,
      },
      {
        type: "scatter3d", mode: "lines+markers", ...columnsOf([[0, 0, 0], target]),
        name: `${words.reference} (${inside ? "inside" : "outside"})`, hoverinfo: "name",
        line: { color: verdict, width: 4 },
        marker: {
          size: [3, 8],
          symbol: ["circle", inside ? "circle" : "x"],
          color: [colour("text"), verdict],
        },
      },
    ],
  };
}

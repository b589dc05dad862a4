// The tracks in space, ellipsoids along the chosen one, and where the slider is.

const IN_SPACE = 600; // columns: a line in space needs fewer points than one over time
const ALONG = 14; // ellipsoids along the track
const VISIBLE = 0.01, SHOWN = 0.03; // of the extent: smaller cannot be seen; brought near to

function scene(place, tracks, words) {
  let chosen = 0, scan = 0;
  const factor = tracks.map(magnification);

  const traces = () => {
    const track = tracks[chosen];
    const shown = together(tracks, chosen, words);
    const paths = shown.map(([each, n]) => pathOf(each, n, shown.length, words));
    const fixed = [referenceOf(track, words), ...paths];
    return [...fixed, ...(track.nees ? [alongOf(track, factor[chosen])] : []), ...here()];
  };
  const here = () => {
    const track = tracks[chosen], position = placeOf(track, scan);
    const mark = {
      type: "scatter3d", mode: "markers", ...columnsOf([position]), name: "this scan",
      marker: { size: 5, color: colour("text") }, hoverinfo: "name",
    };
    if (!track.nees) return [mark];
    return [mark, {
      type: "scatter3d", mode: "lines", ...ringsAt(track, scan, factor[chosen]),
      line: { color: colour("text"), width: 3 }, hoverinfo: "skip", showlegend: false,
    }];
  };
  const layout = (drawn) => layoutOf({
    uirevision: "same",
    margin: { l: 0, r: 0, t: 0, b: 0 },
    legend: { orientation: "h", x: 0, y: 0, yanchor: "top", font: { size: 12 } },
    scene: roomFor(drawn, AXES.map((name, i) => name + away(tracks[0], i)), narrow() ? 1.0 : 1.3),
  });
  const draw = () => {
    const drawn = traces();
    Plotly.react(place, drawn, layout(drawn), CONFIG);
  };

  themed(draw);
  return {
    choose(n) { chosen = n; scan = 0; draw(); },
    moveTo(next) {
      scan = next;
      const moving = here(), first = place.data.length - moving.length;
      const columns = Object.fromEntries(AXES.map((c) => [c, moving.map((each) => each[c])]));
      Plotly.restyle(place, columns, moving.map((_, i) => first + i));
    },
  };
}

const placeOf = (track, i) => [...track.position.subarray(3 * i, 3 * i + 3)];

/** ' - 456700 (m)': positions far from the world's origin are told from a place near to them. */
function away(track, i) {
  const origin = track.origin[i];
  return origin ? ` ${origin > 0 ? "-" : "+"} ${Math.abs(origin)} (m)` : " (m)";
}

function pathOf(track, n, count, words) {
  const scans = inSpace(track);
  const path = lineThrough(track, scans, (i) => placeOf(track, i));
  const look = lineOf(n);
  const byError = count === 1 && {
    color: broken(track, scans, (i) => track.distance[i]), colorscale: "Viridis",
    colorbar: {
      title: { text: `${legendName(track.short)}: ${words.error} (m)`, side: "right" },
      thickness: 10, len: 0.7, x: 1,
    },
  };
  return {
    type: "scatter3d", name: legendName(track.short), ...path, ...inSpaceMode(path, look.color),
    line: { color: look.color, dash: look.dash, width: 4, ...byError },
    showlegend: !byError, // the colour scale names it
    customdata: broken(track, scans, (i) => [track.time[i], track.distance[i]]),
    hovertemplate: `%{customdata[0]:.1f} s: ${words.error} %{customdata[1]:.3g} m<extra></extra>`,
  };
}

function referenceOf(track, words) {
  const scans = inSpace(track);
  const at = (i) => placeOf(track, i).map((value, axis) => value - track.error[3 * i + axis]);
  const path = lineThrough(track, scans, at);
  return {
    type: "scatter3d", name: words.reference, ...path, ...inSpaceMode(path, colour("quiet")),
    line: { color: colour("quiet"), width: 3, dash: "dash" }, hoverinfo: "skip",
  };
}

function inSpaceMode(path, shade) {
  const { mode, marker } = lineMode(path.x, 4);
  return { mode, marker: { ...marker, color: shade } };
}

/** Ellipsoids spread evenly over the scans, as one line. */
function alongOf(track, factor) {
  const count = Math.min(ALONG, track.time.length);
  const scans = Array.from({ length: count }, (_, i) =>
    Math.round((i * (track.time.length - 1)) / Math.max(count - 1, 1)));
  const rings = scans.map((scan) => ringsAt(track, scan, factor));
  const size = factor === 1 ? "to scale" : `magnified ${factor.toLocaleString("en")} times`;
  return {
    type: "scatter3d", mode: "lines", name: `95 % ellipsoids, ${size}`, hoverinfo: "skip",
    line: { color: colour("accent"), width: 2 },
    x: rings.flatMap((ring) => ring.x),
    y: rings.flatMap((ring) => ring.y),
    z: rings.flatMap((ring) => ring.z),
  };
}

const ringsAt = (track, scan, factor) => circles(
  rootOf(track.covariance, scan),
  factor * Math.sqrt(honestAt(track, "region", scan)),
  placeOf(track, scan),
);

const inSpace = (track) =>
  thinned(track.time, [0, 1, 2].map((axis) => columnOf(track, axis)), -Infinity, Infinity, IN_SPACE);

const columnOf = (track, axis) => track.time.map((_, i) => track.position[3 * i + axis]);

function lineThrough(track, scans, at) {
  const points = broken(track, scans, at).map((point) => point ?? [null, null, null]);
  return columnsOf(points);
}

/** 1 if ellipsoids can be seen beside the track; else 2, 5, 10 ... that brings them near to SHOWN. */
function magnification(track) {
  if (!track.nees) return 1;
  const extent = Math.max(...[0, 1, 2].map((axis) => {
    const column = columnOf(track, axis);
    return column.reduce((a, b) => Math.max(a, b)) - column.reduce((a, b) => Math.min(a, b));
  }));
  const sorted = Float32Array.from(track.sigma).sort();
  const size = sorted[sorted.length >> 1];
  if (!(size > 0) || !(extent > 0) || size >= VISIBLE * extent) return 1;
  const wanted = (SHOWN * extent) / size;
  const decade = 10 ** Math.floor(Math.log10(wanted));
  return Math.max(1, decade * [5, 2, 1].find((step) => step * decade <= wanted * (1 + 1e-9)));
}

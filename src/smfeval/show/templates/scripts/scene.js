// The tracks in space, ellipsoids along the chosen one coloured by NEES, and the scan looked at.

const IN_SPACE = 600; // columns: a line in space needs fewer points than one over time
const ALONG = 24; // ellipsoids along the track
const VISIBLE = 0.007, SHOWN = 0.015; // of the extent: smaller cannot be seen; brought near to
const NEES_DECADES = 2; // NEES over its median if consistent, from 0.01 to 100

function scene(place, tracks, words, looked, onPoint) {
  const factor = tracks.map(magnification);

  const traces = () => {
    const track = tracks[looked.chosen];
    const shown = together(tracks, looked.chosen, words);
    const paths = shown.map(([each, n]) => pathOf(each, n, looked.chosen, words));
    const fixed = [referenceOf(track, words), ...paths];
    return [...fixed, ...(track.nees ? [alongOf(track, factor[looked.chosen])] : []), ...here()];
  };
  const here = () => {
    const track = tracks[looked.chosen], position = placeOf(track, looked.scan);
    const mark = {
      type: "scatter3d", mode: "markers", ...columnsOf([position]), name: "this scan",
      marker: { size: 6, color: colour("text") }, hoverinfo: "skip",
    };
    if (!track.nees) return [mark];
    return [mark, {
      type: "scatter3d", mode: "lines", ...ringsAt(track, looked.scan, factor[looked.chosen]),
      line: { color: colour("text"), width: 4 }, hoverinfo: "skip", showlegend: false,
    }];
  };
  const view = () => {
    const shown = together(tracks, looked.chosen, words);
    return roomFor(
      shown.flatMap(([track]) => nearScans(track, looked.all).map((i) => placeOf(track, i)))
        .concat(referencePoints(tracks[looked.chosen])),
      AXES.map((name, i) => name + away(tracks[0], i)), place,
    );
  };
  const draw = () => {
    const drawn = traces(), legend = makeRoom(place, drawn);
    const seen = 1 - legend / (place.clientHeight || 1);
    Plotly.react(place, drawn, layoutOf({
      uirevision: `${looked.chosen} ${looked.all}`,
      margin: { l: 0, r: 0, t: 0, b: 0 },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "top", font: { size: 12 } },
      scene: { ...view(), domain: { x: [0, 1], y: [0, seen] } },
    }), CONFIG);
  };

  themed(draw);
  place.on("plotly_hover", ({ points }) => {
    const pointed = points[0].customdata;
    if (pointed) onPoint(pointed[0]);
  });
  return {
    redraw: draw,
    moveTo() {
      const moving = here(), first = place.data.length - moving.length;
      const columns = Object.fromEntries(AXES.map((c) => [c, moving.map((each) => each[c])]));
      Plotly.restyle(place, columns, moving.map((_, i) => first + i));
    },
  };
}

function pathOf(track, n, chosen, words) {
  const scans = inSpace(track), look = lineOf(n);
  const path = lineThrough(track, scans, (i) => placeOf(track, i));
  return {
    type: "scatter3d", name: legendName(track.short), ...path, ...inSpaceMode(path, look.color),
    line: { color: look.color, dash: look.dash, width: n === chosen ? 5 : 3 },
    customdata: broken(track, scans, (i) => [track.time[i], track.distance[i]]),
    hovertemplate: `%{customdata[0]:.1f} s: ${words.error} %{customdata[1]:.3g} m<extra></extra>`,
  };
}

function referenceOf(track, words) {
  const path = lineThrough(track, inSpace(track), (i) => referencePlace(track, i));
  return {
    type: "scatter3d", name: words.reference, ...path, ...inSpaceMode(path, colour("quiet")),
    line: { color: colour("quiet"), width: 3, dash: "dash" }, hoverinfo: "skip",
  };
}

function inSpaceMode(path, shade) {
  const { mode, marker } = lineMode(path.x, 4);
  return { mode, marker: { ...marker, color: shade } };
}

/** At most ALONG scans, spread evenly over the track. */
function evenScans(track) {
  const count = Math.min(ALONG, track.time.length);
  return Array.from({ length: count }, (_, i) =>
    Math.round((i * (track.time.length - 1)) / Math.max(count - 1, 1)));
}

const ellipsoidName = (factor) => (factor === 1
  ? "95 % ellipsoids, to scale"
  : `95 % ellipsoids, ${narrow() ? "x" : "magnified"} ${factor.toLocaleString("en")}${narrow() ? "" : " times"}`);

/** Ellipsoids spread evenly over the scans, in the colour of their NEES, as one mesh. */
function alongOf(track, factor) {
  const scans = evenScans(track), turns = 16, rings = 8;
  const shapes = scans.map((scan) => ({
    root: rootOf(track.covariance, scan),
    radius: factor * Math.sqrt(honestAt(track, "region", scan)),
    centre: placeOf(track, scan),
  }));
  const ratio = scans.map((scan) => Math.log10(track.nees[scan] / honestAt(track, "middle", scan)));
  return {
    type: "mesh3d", name: ellipsoidName(factor), showlegend: true, hoverinfo: "skip",
    ...surface(shapes, turns, rings), opacity: 0.6,
    intensity: ratio.flatMap((value) => Array(turns * (rings + 1)).fill(value)),
    cmin: -NEES_DECADES, cmax: NEES_DECADES, colorscale: RATIO_COLOURS,
    colorbar: {
      title: { text: "NEES / its median if consistent", side: "right", font: { size: 12 } },
      thickness: 10, len: 0.7, x: 1,
      outlinewidth: 0, tickvals: [-2, -1, 0, 1, 2], ticktext: ["0.01", "0.1", "1", "10", "100"],
    },
  };
}

const ringsAt = (track, scan, factor) => circles(
  rootOf(track.covariance, scan),
  factor * Math.sqrt(honestAt(track, "region", scan)),
  placeOf(track, scan),
);

/** Scans of a line in space; found once, for they never change. */
function inSpace(track) {
  track.inSpace ??= thinned(
    track.time, AXES.map((_, axis) => columnOf(track, axis)), -Infinity, Infinity, IN_SPACE,
  );
  return track.inSpace;
}

const columnOf = (track, axis) => track.time.map((_, i) => track.position[3 * i + axis]);

function lineThrough(track, scans, at) {
  const points = broken(track, scans, at).map((point) => point ?? [null, null, null]);
  return columnsOf(points);
}

/** 1 if ellipsoids can be seen beside the track; else 2, 5, 10 ... that brings them near to SHOWN. */
function magnification(track) {
  if (!track.nees) return 1;
  const extent = Math.max(...AXES.map((_, axis) => {
    const [low, high] = endsOf(referencePoints(track).map((point) => point[axis]));
    return high - low;
  }));
  const sorted = Float32Array.from(track.sigma).sort();
  const size = sorted[sorted.length >> 1];
  if (!(size > 0) || !(extent > 0) || size >= VISIBLE * extent) return 1;
  const wanted = (SHOWN * extent) / size;
  const decade = 10 ** Math.floor(Math.log10(wanted));
  return Math.max(1, decade * [5, 2, 1].find((step) => step * decade <= wanted * (1 + 1e-9)));
}

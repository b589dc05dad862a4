// The path from above, coloured by error over reported sigma; errors alone where there is no sigma.

const LOST = 0.5; // of the reference's extent: scans with a larger error do not widen the view
const TOPS = [3, 10, 30, 100, 300, 1000]; // ends of the colour scale, and one over them
const TICKS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, ...TOPS];
const ROOM = 1.12; // times: 0.3 and 3 are within a scale to 3
const TOP_SHARE = 0.98; // of scans that are within the scale
// Blue below 1, red above; all are seen on light and dark ground.
const RATIO_COLOURS = [[0, "#2b6cb0"], [0.5, "#b9bec6"], [0.75, "#e8833a"], [1, "#b3001b"]];

function topView(place, tracks, words, looked, onPoint) {
  const outside = element("out-of-view");

  const here = () => {
    const [x, y] = placeOf(tracks[looked.chosen], looked.scan);
    return {
      type: "scatter", mode: "markers", x: [x], y: [y], name: "this scan", hoverinfo: "skip", showlegend: false,
      marker: { size: 15, color: "rgba(0,0,0,0)", line: { width: 2, color: colour("text") } },
    };
  };
  const draw = () => {
    const shown = together(tracks, looked.chosen, words), chosen = tracks[looked.chosen];
    const seen = shown.map(([track]) => nearScans(track, looked.all));
    const lost = shown.filter(([track], n) => seen[n].length < inSpace(track).length);
    if (outside) tellLost(outside, lost.map(([track]) => track), looked.all);
    const points = shown.flatMap(([track], n) => seen[n].map((i) => placeOf(track, i)))
      .concat(referencePoints(chosen));
    const [across, along] = [0, 1].map((i) => roomAbout(points.map((point) => point[i])));
    const used = fillOf(place, across, along);
    const traces = [
      ...(words.reference ? [flatPath(chosen, (i) => referencePlace(chosen, i), words.reference, {
        color: colour("quiet"), dash: "dash", width: 1.5,
      })] : []),
      ...shown.filter(([, n]) => n !== looked.chosen).map(([track, n]) =>
        flatPath(track, (i) => placeOf(track, i), legendName(track.short), { ...lineOf(n), width: 1.2 })),
      colouredPath(chosen, legendName(chosen.short), words, used),
      here(),
    ];
    makeRoom(place, traces);
    Plotly.react(place, traces, layoutOf({
      uirevision: `${looked.chosen} ${looked.all}`, hovermode: "closest", dragmode: touch ? false : "pan",
      xaxis: axis(`x${away(chosen, 0)}`, { range: across, constrain: "domain" }),
      yaxis: axis(`y${away(chosen, 1)}`, {
        range: along, constrain: "domain", constraintoward: "top", scaleanchor: "x",
      }),
    }), CONFIG);
  };

  themed(draw);
  place.on("plotly_hover", ({ points: [{ customdata }] }) => customdata && onPoint(customdata[0]));
  return {
    redraw: draw,
    moveTo() {
      const { x, y } = here();
      Plotly.restyle(place, { x: [x], y: [y] }, [place.data.length - 1]);
    },
  };
}

const placeOf = (track, i) => [...track.position.subarray(3 * i, 3 * i + 3)];
const referencePlace = (track, i) =>
  placeOf(track, i).map((value, axis) => value - track.error[3 * i + axis]);
const referencePoints = (track) => inSpace(track).map((i) => referencePlace(track, i));

/** Ends of an axis, with a little room; a point has a metre. */
function roomAbout(values) {
  const [low, high] = endsOf(values), room = 0.05 * (high - low) || 0.5;
  return [low - room, high + room];
}

const WIDE = 1.8; // times as wide as high: such a path needs less height
const AROUND = [140, 90]; // pixels about a plot: labels and scale, labels and legend

/** The shares of the plot's width and height that a path to scale takes up. */
function fillOf(place, across, along) {
  const aspect = (across[1] - across[0]) / (along[1] - along[0]);
  place.closest(".pictures")?.classList.toggle("wide-path", aspect > WIDE);
  const onPaper = root.classList.contains("printing");
  const [width, height] = onPaper ? [PAPER_WIDTH, PAPER_HEIGHT] : [place.clientWidth, place.clientHeight];
  const box = (width - AROUND[0]) / (height - AROUND[1]);
  return [Math.min(1, aspect / box), Math.min(1, box / aspect)];
}

function flatPath(track, at, name, line) {
  const { x, y } = lineThrough(track, inSpace(track), at);
  return { type: "scatter", x, y, name, line, ...lineMode(x, 3), hoverinfo: "skip" };
}

/** Error over sigma, or the error where no sigma is reported, at some scans. */
const colourOf = (track, scans) =>
  scans.map((i) => (track.sigma ? track.distance[i] / track.sigma[i] : track.distance[i]));

function colouredPath(track, name, words, [wide, tall]) {
  const scans = inSpace(track), values = colourOf(track, scans);
  const sorted = [...values].sort((a, b) => a - b), high = sorted[Math.floor(TOP_SHARE * (sorted.length - 1))];
  const top = track.sigma ? ROOM * (TOPS.find((each) => each >= high) ?? TOPS[TOPS.length - 1]) : high || 1;
  const ticks = track.sigma
    ? TICKS.filter((each) => each <= top && each >= 1 / top)
    : [0.25, 0.5, 0.75, 1].map((share) => share * top);
  const scale = track.sigma ? {
    color: values.map((value) => Math.log10(Math.max(value, 1e-9))), colorscale: RATIO_COLOURS,
    cmin: -Math.log10(top), cmax: Math.log10(top),
  } : { color: values, colorscale: "Viridis", cmin: 0, cmax: top };
  return {
    type: "scatter", mode: "markers", name, ...columnsOf(scans.map((i) => placeOf(track, i))), z: undefined,
    customdata: scans.map((i, n) => [track.time[i], track.distance[i], values[n]]),
    hovertemplate: `%{customdata[0]:.1f} s: ${words.error} %{customdata[1]:.3g} m`
      + `${track.sigma ? ", %{customdata[2]:.3g} sigma" : ""}<extra></extra>`,
    marker: {
      size: 6, ...scale, colorbar: {
        title: { text: track.sigma ? `${words.error} / sigma` : words.error, side: "right", font: { size: 12 } },
        thickness: 10, outlinewidth: 0,
        x: 0.5 + wide / 2 + 0.01, y: 1, yanchor: "top", len: Math.max(tall, 0.5), tickfont: { size: 11 },
        tickvals: track.sigma ? ticks.map(Math.log10) : ticks, ticktext: ticks.map(track.sigma ? plainNumber : length),
      },
    },
  };
}

/** Scans whose error is small beside the way that the reference takes; or all of them. */
function nearScans(track, all) {
  const scans = inSpace(track);
  const ends = AXES.map((_, axis) => endsOf(scans.map((i) => referencePlace(track, i)[axis])));
  const extent = Math.max(...ends.map(([low, high]) => high - low));
  if (all || !(extent > 0)) return scans;
  return scans.filter((i) => Math.hypot(...track.error.subarray(3 * i, 3 * i + 3)) <= LOST * extent);
}

function tellLost(place, lost, all) {
  place.hidden = !all && !lost.length;
  place.querySelector("span").textContent = all
    ? "Everything is in view."
    : `Out of view, because far from the reference: ${lost.map(({ short }) => short).join(", ")}.`;
  place.querySelector("button").textContent = all ? "Zoom to the reference" : "Show everything";
}

/** ' - 456700 (m)': positions far from the world's origin are measured from a place near to them. */
function away(track, i) {
  const origin = track.origin[i];
  return origin ? ` ${origin > 0 ? "-" : "+"} ${Math.abs(origin)} (m)` : " (m)";
}

// Colours of the plots: those of the page, in light, dark and print.

const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = () => innerWidth < 720;
const touch = !matchMedia("(hover: hover)").matches;

// Okabe and Ito, safe for the colour-blind; the last is the colour of the text.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"];
const DARK_COLOURS = ["#56B4E9", "#FF8A3D", "#2FC79B", "#E39AC4", "#7FA8FF", "#F0C244"];
const DASHES = ["solid", "dash", "dashdot", "dot"];

/** A colour of the style sheet. */
const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
const inDark = () => !root.classList.contains("printing")
  && (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);

/** Look of the n-th line. */
function lineOf(n) {
  const colours = [...(inDark() ? DARK_COLOURS : COLOURS), colour("text")];
  return {
    color: colours[n % colours.length],
    dash: DASHES[Math.floor(n / colours.length) % DASHES.length],
  };
}

/** Plotly reads some HTML in labels; a name must show as it is written. */
const label = (name) =>
  name.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

/** A name that fits a legend. */
function legendName(name) {
  const most = narrow() ? 24 : 44;
  const half = (most - 1) >> 1;
  return label(name.length <= most ? name : `${name.slice(0, half)}…${name.slice(-half)}`);
}

/** An axis of a flat plot. */
const axis = (title, more = {}) => ({
  title: { text: title, standoff: 8, font: { size: 13 } },
  gridcolor: colour("line"),
  linecolor: colour("line"),
  zeroline: false,
  automargin: true,
  ...more,
});

/** An axis of a plot in space. */
const spaceAxis = (title, more = {}) => ({
  title: { text: title, font: { size: 13 } },
  tickfont: { size: 11 },
  gridcolor: colour("line"),
  zerolinecolor: colour("line"),
  showbackground: false,
  showspikes: false,
  ...more,
});

const AXES = ["x", "y", "z"];
const FIELD = 0.828; // height that is seen at distance 1: 2 tan(fov / 2), fov = 45 degrees
const EYE_DISTANCE = 2;
const FLAT = 0.15; // of the longest side: a lower one has no room for its labels

/** Least and largest of some numbers. */
function endsOf(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); }
  }
  return [low, high];
}

/** Axes about some points, to scale: the longest side is `reach` long. */
function axesAbout(ends, titles, reach, ticks) {
  const longest = Math.max(...ends.map(([low, high]) => high - low)) || 1;
  const sides = ends.map(([low, high]) => Math.max(1.1 * (high - low), 0.08 * longest));
  const [x, y, z] = ends.map(([low, high], i) => spaceAxis(titles[i], {
    range: [0.5 * (low + high - sides[i]), 0.5 * (low + high + sides[i])],
    nticks: Math.max(2, Math.round((ticks * sides[i]) / longest)),
  }));
  const [a, b, c] = sides.map((side) => (reach * side) / longest);
  return {
    aspectmode: "manual", aspectratio: { x: a, y: b, z: c }, dragmode: "orbit",
    xaxis: x, yaxis: y, zaxis: z,
  };
}

/** Where the eye is: `azimuth` about the vertical, `elevation` above the ground, radians. */
const eyeAt = (azimuth, elevation) => ({
  x: EYE_DISTANCE * Math.cos(azimuth) * Math.cos(elevation),
  y: EYE_DISTANCE * Math.sin(azimuth) * Math.cos(elevation),
  z: EYE_DISTANCE * Math.sin(elevation),
});

/** Room for points [x, y, z], seen with their longest way across the plot, as large as fits. */
function roomFor(points, titles, place) {
  const ends = AXES.map((_, axis) => endsOf(points.map((point) => point[axis])));
  const longest = Math.max(...ends.map(([low, high]) => high - low)) || 1;
  const along = longestWay(points);
  const [length, width] = [along, along + Math.PI / 2].map((angle) => {
    const [low, high] = endsOf(points.map(([x, y]) => x * Math.cos(angle) + y * Math.sin(angle)));
    return Math.max(high - low, 0.08 * longest);
  });
  const height = Math.max(ends[2][1] - ends[2][0], 0.08 * longest);
  const elevation = width > 0.5 * length ? 0.95 : 0.7;
  const seen = FIELD * EYE_DISTANCE, aspect = place.clientWidth / place.clientHeight || 1;
  const tall = width * Math.sin(elevation) + height * Math.cos(elevation);
  const reach = longest * seen * Math.min((0.74 * aspect) / length, 0.6 / tall);
  const behind = along - Math.PI / 2;
  const axes = axesAbout(ends, titles, reach, narrow() ? 3 : 6);
  if (height < FLAT * longest) Object.assign(axes.zaxis, { title: { text: "" }, showticklabels: false });
  return {
    ...axes,
    camera: {
      eye: eyeAt(Math.sin(behind) > 0 ? behind + Math.PI : behind, elevation),
      center: { x: 0, y: 0, z: -0.1 },
    },
  };
}

/** Angle of the direction in which points on the ground are spread most, by second moments. */
function longestWay(points) {
  const mean = [0, 1].map((axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length);
  let xx = 0, xy = 0, yy = 0;
  for (const [x, y] of points) {
    const dx = x - mean[0], dy = y - mean[1];
    xx += dx * dx; xy += dx * dy; yy += dy * dy;
  }
  return 0.5 * Math.atan2(2 * xy, xx - yy);
}

/** Room for traces in space, about as wide as high. */
function cubeFor(traces, titles) {
  const ends = AXES.map((name) => endsOf(traces.flatMap((trace) => trace[name])));
  return {
    ...axesAbout(ends, titles, 0.8, 4),
    camera: { eye: eyeAt(-2.13, 0.58), center: { x: 0, y: 0, z: -0.08 } },
  };
}

/** What all plots share. */
const layoutOf = (more) => ({
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("text") },
  hoverlabel: {
    bgcolor: colour("paper"), bordercolor: colour("line"), font: { color: colour("text") },
  },
  legend: {
    orientation: "h", x: 0, y: 1, yref: "container", yanchor: "top", font: { size: 12 }, traceorder: "normal",
  },
  modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("quiet"), activecolor: colour("accent") },
  margin: { l: 10, r: 10, t: 10, b: 10 },
  ...more,
});

const LEGEND_ROW = 19, LETTER = 7, HANDLE = 55, FEW_ROWS = 2; // pixels, and rows that fit anyway

/** Makes a plot on a narrow screen higher by the rows of its legend; returns these pixels. */
function makeRoom(place, traces) {
  const names = traces.filter(({ showlegend }) => showlegend !== false).map(({ name }) => name ?? "");
  const widest = HANDLE + LETTER * Math.max(...names.map((name) => name.length));
  const rows = Math.ceil(names.length / Math.max(1, Math.floor(place.clientWidth / widest)));
  if (root.classList.contains("printing")) return 0;
  place.style.height = "";
  if (!narrow() || rows <= FEW_ROWS) return 0;
  place.style.height = `${place.clientHeight + LEGEND_ROW * rows}px`;
  return LEGEND_ROW * rows;
}

/** A name in the legend that stands for several lines. */
const legendEntry = (name, line, more = {}) => ({
  type: "scatter", mode: "lines", x: [null], y: [null], name, line, hoverinfo: "skip", ...more,
});

const CONFIG = {
  displaylogo: false,
  responsive: true,
  displayModeBar: touch ? false : "hover",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "tableRotation"],
};

/** Draw now, and again whenever the colours change. */
function themed(draw) {
  draw();
  dark.addEventListener("change", draw);
  root.addEventListener("themed", draw);
  addEventListener("beforeprint", () => { root.classList.add("printing"); draw(); });
  addEventListener("afterprint", () => { root.classList.remove("printing"); draw(); });
}

// Pixels: as wide as A4 between its margins; the style sheet has the same heights.
const PAPER_WIDTH = 690, PAPER_HEIGHT = 350, PAPER_HEIGHT_OF_TWO = 430;

/** Two plots above each other need more than one. */
const paperHeight = (plot) => (plot._fullLayout.yaxis2 ? PAPER_HEIGHT_OF_TWO : PAPER_HEIGHT);

// While the page is printed, plots have a size that fits paper; called once all are drawn.
// Plots in space are shrunk as they are: WebGL would draw a new size only after the print.
function fitPlotsToPaper() {
  const flat = (plot) => !plot._fullLayout.scene;
  const plots = () => [...document.querySelectorAll(".js-plotly-plot")];
  addEventListener("beforeprint", () => {
    for (const plot of plots()) {
      const { offsetWidth: width, offsetHeight: height } = plot;
      if (flat(plot)) Plotly.relayout(plot, { autosize: false, width: PAPER_WIDTH, height: paperHeight(plot) });
      else if (width) {
        const zoom = Math.min(1, PAPER_WIDTH / width);
        Object.assign(plot.style, { zoom, width: `${width}px`, height: `${height}px` });
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const plot of plots()) {
      if (flat(plot)) Plotly.relayout(plot, { autosize: true, width: null, height: null });
      else Object.assign(plot.style, { zoom: "", width: "", height: "" });
    }
  });
}

/** The button that turns light to dark and back; until it is pressed, the system decides. */
function enableThemeButton(button) {
  const show = () => {
    button.setAttribute("aria-pressed", inDark());
    button.textContent = inDark() ? "Light" : "Dark";
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = inDark() ? "light" : "dark";
    show();
    root.dispatchEvent(new Event("themed"));
  });
  dark.addEventListener("change", show);
  show();
}

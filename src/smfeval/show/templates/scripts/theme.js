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
const inDark = () => dark.matches && !root.classList.contains("printing");

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
  title: { text: title, standoff: 8 },
  gridcolor: colour("line"),
  linecolor: colour("line"),
  zeroline: false,
  automargin: true,
  ...more,
});

/** An axis of a plot in space. */
const spaceAxis = (title, more = {}) => ({
  title: { text: title },
  gridcolor: colour("line"),
  zerolinecolor: colour("line"),
  showbackground: false,
  showspikes: false,
  ...more,
});

const AXES = ["x", "y", "z"];
const EYE = { x: -1.0, y: -1.6, z: 1.25 }; // far enough for the titles of the axes
const CENTRE = { x: 0, y: 0, z: -0.12 }; // they hang below the box

/** Room in space for all the points, to scale; the longest side is `reach` long. */
function roomFor(columns, titles, reach) {
  const ends = AXES.map((name) => {
    let low = Infinity, high = -Infinity;
    for (const column of columns) {
      for (const value of column[name]) {
        if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); }
      }
    }
    return [low, high];
  });
  const longest = Math.max(...ends.map(([low, high]) => high - low)) || 1;
  const sides = ends.map(([low, high]) => Math.max(1.1 * (high - low), 0.08 * longest));
  const [x, y, z] = ends.map(([low, high], i) => spaceAxis(titles[i], {
    range: [0.5 * (low + high - sides[i]), 0.5 * (low + high + sides[i])],
    nticks: Math.max(2, Math.round((6 * sides[i]) / longest)),
  }));
  const [a, b, c] = sides.map((side) => (reach * side) / longest);
  return {
    aspectmode: "manual", aspectratio: { x: a, y: b, z: c }, dragmode: "orbit",
    xaxis: x, yaxis: y, zaxis: z, camera: { eye: EYE, center: CENTRE },
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
  legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
  modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("quiet"), activecolor: colour("accent") },
  margin: { l: 10, r: 10, t: 10, b: 10 },
  ...more,
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
  addEventListener("beforeprint", () => { root.classList.add("printing"); draw(); });
  addEventListener("afterprint", () => { root.classList.remove("printing"); draw(); });
}

// Brings the page to life: the plots, the slider that links them, and who is looked at.

const element = (id) => document.getElementById(id);
const ERROR_WORDS = {
  error: "error", sigma: "reported sigma", path: "estimate", reference: "reference",
  region: "95 % ellipsoid", alone: false,
};
const PAIR_WORDS = {
  error: "difference", sigma: "summed sigma", path: "first track", reference: "second track",
  region: "95 % ellipsoid", alone: true,
};

/** A length in the unit that reads best. */
function length(metres) {
  const [scale, unit] = UNITS.find(([one]) => metres >= one) ?? UNITS[UNITS.length - 1];
  return `${Number((metres / scale).toPrecision(3))} ${unit}`;
}

function sentenceAt(track, i, words) {
  const [scan, scans] = [scanNumber(track, i), track.scans].map((n) => n.toLocaleString("en"));
  const when = `Scan ${scan} of ${scans}, ${track.time[i].toFixed(1)} s`;
  const start = `${when}: ${words.error} ${length(track.distance[i])}`;
  if (!track.nees) return start;
  const inside = track.nees[i] <= honestAt(track, "region", i);
  const nees = Number(track.nees[i].toPrecision(3)).toLocaleString("en");
  return `${start}, ${words.sigma} ${length(track.sigma[i])}, NEES ${nees}: `
    + `${words.reference} ${inside ? "inside" : "outside"} the ${words.region}`;
}

/** Lets the browser show what there is before more is drawn. */
const breath = () => new Promise((resume) => setTimeout(resume));

/** Draws into a place: now, or once the fold about it is opened; on paper in any case, if flat. */
function whenSeen(place, draw, flat = true) {
  if (!place) return;
  const fold = place.closest("details:not([open])");
  let drawn = false;
  const once = () => { if (!drawn) { drawn = true; draw(place); } };
  if (!fold) { once(); return; }
  fold.addEventListener("toggle", once);
  if (flat) addEventListener("beforeprint", once);
}

async function showTracks(told) {
  const tracks = told.tracks.map(unpackedTrack);
  const words = told.pairs ? PAIR_WORDS : ERROR_WORDS;
  const slider = element("scan"), readout = element("readout"), select = element("chosen");
  const looked = { chosen: 0, scan: 0, all: false }; // track and scan that are looked at; lost ones, too
  const views = [];
  let waiting = false;

  const update = () => {
    readout.textContent = sentenceAt(tracks[looked.chosen], looked.scan, words);
    time.moveTo(tracks[looked.chosen].time[looked.scan]);
    for (const view of views) view.moveTo();
  };
  const moveTo = (scan) => {
    if (scan === looked.scan) return;
    looked.scan = scan;
    slider.value = scan;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  };
  const pointAt = (instant) => moveTo(nearest(tracks[looked.chosen].time, instant));
  const time = timeAxis(wholeTime(tracks), pointAt);
  const redraw = () => { for (const view of views) view.redraw(); };
  const choose = (n) => {
    const instant = tracks[looked.chosen].time[looked.scan];
    looked.chosen = n;
    looked.scan = nearest(tracks[n].time, instant);
    for (const panel of document.querySelectorAll(".panel")) {
      panel.hidden = Number(panel.dataset.of) !== n;
    }
    markRow(element("overview"), n);
    slider.max = tracks[n].time.length - 1;
    slider.value = looked.scan;
    element("to-nees").hidden = !tracks[n].nees;
    time.redraw();
    redraw();
    update();
  };

  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  element("to-error").addEventListener("click", () => moveTo(largest(tracks[looked.chosen].distance)));
  element("to-nees").addEventListener("click", () => moveTo(largest(tracks[looked.chosen].nees)));
  element("out-of-view").querySelector("button").addEventListener("click", () => {
    looked.all = !looked.all;
    redraw();
  });
  if (select) select.addEventListener("change", () => choose(Number(select.value)));
  chooseByRow(element("overview"), select);
  choose(0);
  await breath();
  views.push(topView(element("top-view"), tracks, words, looked, pointAt));
  await breath();
  overTime(element("over-time"), tracks, words, looked, time);
  await breath();
  if (element("curve")) views.push(coverageCurve(element("curve"), tracks, told.curves, looked));
  whenSeen(element("scene"), (place) => views.push(scene(place, tracks, words, looked, pointAt)), false);
  whenSeen(element("close-up"), (place) => views.push(closeUp(place, tracks, words, looked)), false);
  whenSeen(element("nees"), (place) => neesOverTime(place, tracks, told.orientations, looked, time));
  whenSeen(element("rotation"), (place) => rotationOverTime(place, tracks, told.orientations, looked, time));
  if (element("stanford")) views.push(stanfordDiagrams(element("stanford"), told.stanford, looked));
  whenSeen(element("horizons"), (place) => horizonCurves(place, tracks, told.horizons));
}

/** The row of the one that is looked at. */
function markRow(overview, n) {
  for (const row of overview?.querySelectorAll("tbody tr") ?? []) {
    row.classList.toggle("looked-at", Number(row.dataset.of) === n);
  }
}

/** A click on a row of the table of all looks closer at it. */
function chooseByRow(overview, select) {
  [...(overview?.querySelectorAll("tbody tr") ?? [])].forEach((row, n) => {
    row.dataset.of = n;
    row.addEventListener("click", ({ target }) => {
      if (target.closest("a, button")) return;
      select.value = n;
      select.dispatchEvent(new Event("change"));
    });
  });
}

/** Unpacks the plotting library and runs it, if its hash is the one that the page names. */
async function loadLibrary(packed) {
  const stream = new Blob([bytesOf(packed.textContent)]).stream();
  const script = document.createElement("script");
  script.textContent = await new Response(
    stream.pipeThrough(new DecompressionStream("gzip")),
  ).text();
  document.head.append(script);
  packed.remove();
}

async function drawPlots(told) {
  await loadLibrary(element("library"));
  if (told.spread && element("spread")) spread(element("spread"), element("metric"), told.spread);
  if (told.sweep) sweepPlot(element("sweep"), told.sweep);
  if (told.tracks) await showTracks(told);
  else if (told.path) await showPath(told.path);
  fitPlotsToPaper();
}

enableThemeButton(element("theme"));
document.querySelectorAll("table").forEach(fitTable);
document.querySelectorAll("table:not(.still)").forEach(enliven);
explainTerms();
const drawn = element("library") ? drawPlots(JSON.parse(element("data").textContent)) : breath();
drawn.catch((error) => {
  if (typeof DecompressionStream !== "undefined") throw error;
  element("no-plots").hidden = false;
}).then(() => { root.dataset.ready = "yes"; });

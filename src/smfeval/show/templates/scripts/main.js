// Brings the page to life: the plots, the slider that links them, and who is looked at.

const element = (id) => document.getElementById(id);
const ERROR_WORDS = {
  error: "error", sigma: "claimed sigma", path: "estimate", reference: "reference",
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

async function showTracks(told) {
  const tracks = told.tracks.map(unpackedTrack);
  const words = told.pairs ? PAIR_WORDS : ERROR_WORDS;
  const slider = element("scan"), readout = element("readout"), select = element("chosen");
  const looked = { chosen: 0, scan: 0 }; // track and scan that are looked at
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
    for (const view of views) view.redraw();
    update();
  };

  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  element("to-error").addEventListener("click", () => moveTo(largest(tracks[looked.chosen].distance)));
  element("to-nees").addEventListener("click", () => moveTo(largest(tracks[looked.chosen].nees)));
  if (select) select.addEventListener("change", () => choose(Number(select.value)));
  chooseByRow(element("overview"), select);
  choose(0);
  await breath();
  views.push(scene(element("scene"), tracks, words, looked, pointAt));
  await breath();
  overTime(element("over-time"), tracks, words, looked, time);
  await breath();
  if (element("orientation")) {
    orientationOverTime(element("orientation"), tracks, told.orientations, looked, time);
    await breath();
  }
  if (element("curve")) coverageCurve(element("curve"), tracks, told.curves);
  if (element("horizons")) horizonCurves(element("horizons"), tracks, told.horizons);
  await breath();
  if (element("close-up")) views.push(closeUp(element("close-up"), tracks, words, looked));
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
  for (const [n, knob] of (told.knobs ?? []).entries()) knobPlot(element(`knob-${n}`), knob);
  if (told.tracks) await showTracks(told);
  else if (told.path) await showPath(told.path);
  fitPlotsToPaper();
}

enableThemeButton(element("theme"));
document.querySelectorAll("table:not(.still)").forEach(enliven);
explainTerms();
const drawn = element("library") ? drawPlots(JSON.parse(element("data").textContent)) : breath();
drawn.catch((error) => {
  if (typeof DecompressionStream !== "undefined") throw error;
  element("no-plots").hidden = false;
}).then(() => { root.dataset.ready = "yes"; });

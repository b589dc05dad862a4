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
  const views = [];
  const lines = [];
  let chosen = 0, waiting = false;

  const update = () => {
    const track = tracks[chosen], scan = Number(slider.value);
    readout.textContent = sentenceAt(track, scan, words);
    for (const view of views) view.moveTo(scan);
    for (const line of lines) line.moveTo(track.time[scan]);
  };
  const moveTo = (scan) => {
    slider.value = scan;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  };
  const choose = (n) => {
    chosen = n;
    for (const panel of document.querySelectorAll(".panel")) {
      panel.hidden = Number(panel.dataset.of) !== n;
    }
    slider.max = tracks[n].time.length - 1;
    element("to-nees").hidden = !tracks[n].nees;
    slider.value = 0;
    for (const view of views) view.choose(n);
    for (const line of lines) line.choose(n);
    update();
  };

  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  element("to-error").addEventListener("click", () => moveTo(largest(tracks[chosen].distance)));
  element("to-nees").addEventListener("click", () => moveTo(largest(tracks[chosen].nees)));
  if (select) select.addEventListener("change", () => choose(Number(select.value)));
  choose(0);
  await breath();
  const goTo = (instant) => moveTo(nearest(tracks[chosen].time, instant));
  lines.push(overTime(element("over-time"), tracks, words, goTo));
  await breath();
  if (element("orientation")) {
    lines.push(orientationOverTime(element("orientation"), tracks, told.orientations, goTo));
    await breath();
  }
  if (element("curve")) coverageCurve(element("curve"), tracks, told.curves);
  if (element("horizons")) horizonCurves(element("horizons"), tracks, told.horizons);
  await breath();
  views.push(scene(element("scene"), tracks, words));
  await breath();
  if (element("close-up")) views.push(closeUp(element("close-up"), tracks, words));
}

document.querySelectorAll("table:not(.still)").forEach(enliven);
explainTerms();
const told = JSON.parse(element("data").textContent);
if (told.spread && element("spread")) spread(element("spread"), element("metric"), told.spread);
(told.tracks ? showTracks(told) : breath()).then(() => { root.dataset.ready = "yes"; });

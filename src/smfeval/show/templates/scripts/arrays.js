// Numbers as they come (base64 of float32), and as many of them as a screen can show.

/** Bytes of a base64 text. */
function bytesOf(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Little-endian float32 numbers of a base64 text. */
const unpacked = (text) => new Float32Array(bytesOf(text).buffer);

/** Root of the trace of xx, xy, xz, yy, yz, zz. */
const rootOfTrace = (entries) => Math.sqrt(entries[0] + entries[3] + entries[5]);

/** A track with its series as arrays. */
function unpackedTrack(told) {
  const track = { ...told };
  for (const name of ["time", "position", "error", "distance"]) track[name] = unpacked(told[name]);
  if (told.belief) {
    const { nees, honest } = told.belief, covariance = unpacked(told.belief.covariance);
    const law = Object.entries(honest).map(([name, values]) => [name, unpacked(values)]);
    Object.assign(track, {
      nees: unpacked(nees),
      sigma: track.time.map((_, i) => rootOfTrace(covariance.subarray(6 * i, 6 * i + 6))),
      covariance,
      honest: Object.fromEntries(law),
    });
  }
  return track;
}

/** Number of scan i of the whole track, from 1 on: some scans may not be on the page. */
const scanNumber = (track, i) => (track.scan ? track.scan[i] : i) + 1;

/** What an honest belief has at scan i; one number may stand for all scans. */
const honestAt = (track, name, i) => track.honest[name][track.honest[name].length > 1 ? i : 0];

/** Tracks that are drawn together, with their numbers: pairs are looked at one by one. */
const together = (tracks, chosen, words) =>
  tracks.map((track, n) => [track, n]).filter(([, n]) => !words.alone || n === chosen);

/** First index whose time is not before the given one. */
function indexAt(time, instant) {
  let low = 0, high = time.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[middle] < instant) low = middle + 1; else high = middle;
  }
  return low;
}

/** Index of the scan nearest in time. */
function nearest(time, instant) {
  const after = Math.min(indexAt(time, instant), time.length - 1);
  const before = Math.max(after - 1, 0);
  return instant - time[before] < time[after] - instant ? before : after;
}

/** Scans to draw between two instants: each column keeps its ends and each series' extremes. */
function thinned(time, series, from, to, columns) {
  const first = Math.max(indexAt(time, from) - 1, 0);
  const last = Math.min(indexAt(time, to), time.length - 1);
  const count = last - first + 1;
  const all = Array.from({ length: count }, (_, i) => first + i);
  if (count <= 4 * columns) return all;
  const kept = new Set();
  for (let column = 0; column < columns; column++) {
    const start = first + Math.floor((column * count) / columns);
    const end = first + Math.floor(((column + 1) * count) / columns);
    kept.add(start).add(end - 1);
    for (const values of series) {
      let least = start, most = start;
      for (let i = start; i < end; i++) {
        if (values[i] < values[least]) least = i;
        if (values[i] > values[most]) most = i;
      }
      kept.add(least).add(most);
    }
  }
  return [...kept].sort((a, b) => a - b);
}

/** Values at the given scans, with null where a gap in time lies between two of them. */
function broken(track, scans, valueOf) {
  const found = [];
  let breaks = track.breaks.length ? indexAt(track.breaks, scans[0] + 1) : 0;
  for (const scan of scans) {
    while (breaks < track.breaks.length && track.breaks[breaks] <= scan) {
      if (found.length && found[found.length - 1] !== null) found.push(null);
      breaks++;
    }
    found.push(valueOf(scan));
  }
  return found;
}

/** Sizes of dots for scans that stand alone between two gaps, where a line has nothing to join. */
function dots(values, size) {
  const none = (i) => (values[i] ?? null) === null;
  const isLone = (i) => !none(i) && none(i - 1) && none(i + 1);
  return values.map((_, i) => (isLone(i) ? size : 0));
}

/** How a line is drawn: with dots where it has lone scans. */
function lineMode(values, size) {
  const sizes = dots(values, size);
  if (!sizes.some(Boolean)) return { mode: "lines", marker: {} };
  return { mode: "lines+markers", marker: { size: sizes, opacity: 1, line: { width: 0 } } };
}

/** Index of the largest value. */
const largest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

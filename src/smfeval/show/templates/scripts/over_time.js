// Error, claimed sigma and NEES over time.

function overTime(place, tracks, words, looked, time) {
  const believes = tracks.some((track) => track.nees);
  place.classList.toggle("single", !believes);
  time.add(place, (from, to) => {
    const shown = together(tracks, looked.chosen, words);
    const lawful = tracks[looked.chosen].nees
      ? tracks[looked.chosen] : tracks.find((track) => track.nees);
    const drawn = shown.map(([track]) => track), legend = estimateEntries(shown, words.sigma);
    return {
      traces: [
        ...(lawful ? bandOf(lawful, from, to) : []), ...legend,
        ...shown.flatMap(([track, n]) => linesOf(track, n, from, to, words, looked.chosen, legend)),
      ],
      xaxis: { anchor: believes ? "y2" : "y" },
      yaxis: axis(`${words.error} (m)`, {
        type: "log", domain: believes ? [0.52, 1] : [0, 1], ...decades(drawn, ["distance", "sigma"]),
      }),
      ...(believes && {
        yaxis2: axis("NEES", { type: "log", domain: [0, 0.48], ...decades(drawn, ["nees"]) }),
      }),
    };
  });
}

/** One entry for each of several tracks, and one for all of their dotted lines. */
function estimateEntries(shown, dotted) {
  if (shown.length < 2) return [];
  return [
    ...shown.map(([track, n]) => legendEntry(
      legendName(track.short), { ...lineOf(n), width: 2 }, { legendgroup: String(n) },
    )),
    legendEntry(dotted, { color: colour("quiet"), dash: "dot", width: 1.4 }),
  ];
}

function linesOf(track, n, from, to, words, chosen, legend) {
  const look = lineOf(n), name = legendName(track.short);
  const among = track.nees ? ["distance", "sigma", "nees"] : ["distance"];
  const faint = n === chosen ? 1 : 0.55;
  const line = (series, more) => seriesLine(track, series, among, from, to, {
    legendgroup: String(n), opacity: faint, showlegend: !legend.length, ...more,
  });
  const error = line("distance", {
    name: `${name}: ${words.error}`, line: { ...look, width: 1.6 },
  });
  if (!track.nees) return [error];
  return [
    error,
    line("sigma", {
      name: `${name}: ${words.sigma}`, line: { color: look.color, width: 1.4, dash: "dot" },
    }),
    line("nees", {
      name: `${name}: NEES`, yaxis: "y2", showlegend: false, line: { ...look, width: 1.1 },
    }),
  ];
}

/** Where the NEES of an honest belief lies in 95 % of scans, and its median. */
function bandOf(track, from, to) {
  const ends = track.honest.middle.length > 1
    ? thinned(track.time, [track.honest.middle], from, to, COLUMNS)
    : [0, track.time.length - 1];
  const x = ends.map((i) => track.time[i]);
  const edge = (name, more) => ({
    type: "scatter", mode: "lines", yaxis: "y2", x, y: ends.map((i) => honestAt(track, name, i)),
    hoverinfo: "skip", showlegend: false, line: { width: 0, color: colour("quiet") }, ...more,
  });
  return [
    edge("low", {}),
    edge("high", {
      fill: "tonexty", fillcolor: "rgba(128,136,148,.22)", showlegend: true,
      name: "NEES if honest: 95 %",
    }),
    edge("middle", {
      line: { width: 1, dash: "dash", color: colour("quiet") }, showlegend: true,
      name: "NEES if honest: median",
    }),
  ];
}

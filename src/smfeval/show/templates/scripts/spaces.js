// NEES by space of the estimate that is looked at, and rotation error and sigma of all.

function neesOverTime(place, tracks, told, looked, time) {
  time.add(place, (from, to) => {
    const track = tracks[looked.chosen], own = told?.[looked.chosen]?.nees ?? [{ space: "position" }];
    const spaces = own.map((space) => unpackedSeries(space, track, ["ratio"])).filter(({ ratio }) => ratio);
    return {
      traces: [
        ...(track.nees ? bandOf(track, from, to) : []),
        ...spaces.map((space, n) => seriesLine(space, "ratio", ["ratio"], from, to, {
          name: space.axes ? `${space.space} (${space.axes})` : space.space, line: { ...lineOf(n), width: 1.1 },
        })),
      ],
      yaxis: axis("NEES / median", { type: "log", ...decades(spaces, ["ratio"]) }),
    };
  });
}

function rotationOverTime(place, tracks, told, looked, time) {
  const found = told.map((each, n) => each && unpackedSeries(each.rotation, tracks[n], ["error", "sigma"]));
  const shown = tracks.map((track, n) => [track, n]).filter(([, n]) => found[n]);
  time.add(place, (from, to) => {
    const legend = estimateEntries(shown, "reported sigma");
    return {
      traces: [
        ...legend,
        ...shown.flatMap(([track, n]) => rotationLines(found[n], track, n, from, to, looked.chosen, legend)),
      ],
      yaxis: axis("rotation (deg)", { type: "log", ...decades(found.filter(Boolean), ["error", "sigma"]) }),
    };
  });
}

/** Series as arrays; scans that are those of the track, and its ratio, are not written twice. */
function unpackedSeries(told, track, names) {
  const clock = told.time ? { time: unpacked(told.time) } : { time: track.time, breaks: track.breaks };
  const values = names.map((name) => [
    name, told[name] ? unpacked(told[name]) : track.nees?.map((nees, i) => nees / honestAt(track, "middle", i)),
  ]);
  return { ...told, ...clock, ...Object.fromEntries(values) };
}

function rotationLines(rotation, track, n, from, to, chosen, legend) {
  const look = lineOf(n), name = legendName(track.short), both = ["error", "sigma"];
  const more = { legendgroup: String(n), opacity: n === chosen ? 1 : 0.55, showlegend: !legend.length };
  return [
    seriesLine(rotation, "error", both, from, to, {
      ...more, name: `${name}: rotation error`, line: { ...look, width: 1.6 },
    }),
    seriesLine(rotation, "sigma", both, from, to, {
      ...more, name: `${name}: reported sigma`, line: { color: look.color, width: 1.4, dash: "dot" },
    }),
  ];
}

/** Where the NEES of a consistent position lies in 95 % of scans, over its median. */
function bandOf(track, from, to) {
  const ends = track.honest.middle.length > 1
    ? thinned(track.time, [track.honest.middle], from, to, COLUMNS)
    : [0, track.time.length - 1];
  const x = ends.map((i) => track.time[i]);
  const edge = (name, more) => ({
    type: "scatter", mode: "lines", x, y: ends.map((i) => honestAt(track, name, i) / honestAt(track, "middle", i)),
    hoverinfo: "skip", showlegend: false, line: { width: 0, color: colour("quiet") }, ...more,
  });
  return [
    edge("low", {}),
    edge("high", {
      fill: "tonexty", fillcolor: "rgba(128,136,148,.22)", showlegend: true, name: "95 % of scans if consistent",
    }),
    edge("middle", { line: { width: 1, dash: "dash", color: colour("quiet") } }),
  ];
}

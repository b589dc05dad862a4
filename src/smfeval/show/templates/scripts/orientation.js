// Rotation error and claimed sigma of all tracks, and NEES by space of the one that is looked at.

function orientationOverTime(place, tracks, told, looked, time) {
  const found = told.map((each, n) => each && {
    rotation: unpackedSeries(each.rotation, tracks[n], ["error", "sigma"]),
    nees: each.nees.map((space) => unpackedSeries(space, tracks[n], ["ratio"])),
  });
  const scored = found.filter(Boolean);
  const who = () => (tracks.length > 1 ? `${legendName(tracks[looked.chosen].short)}: ` : "");
  time.add(place, (from, to) => {
    const spaces = found[looked.chosen]?.nees ?? [];
    const shown = tracks.map((track, n) => [track, n]).filter(([, n]) => found[n]);
    const legend = estimateEntries(shown, "claimed sigma");
    return {
      traces: [
        ...legend,
        ...found.flatMap((each, n) =>
          (each ? rotationLines(each.rotation, tracks[n], n, from, to, looked.chosen, legend) : [])),
        ...spaces.map((space, n) => ratioLine(space, who(), tracks.length + n, from, to)),
        {
          type: "scatter", mode: "lines", name: "median if honest", yaxis: "y2", hoverinfo: "skip",
          x: [from, to], y: [1, 1], line: { color: colour("quiet"), dash: "dash", width: 1 },
        },
      ],
      xaxis: { anchor: "y2" },
      yaxis: axis("rotation (deg)", {
        type: "log", domain: [0.52, 1],
        ...decades(scored.map((each) => each.rotation), ["error", "sigma"]),
      }),
      yaxis2: axis("NEES / median", {
        type: "log", domain: [0, 0.48], ...decades(spaces, ["ratio"]),
      }),
    };
  });
}

/** Series as arrays; scans that are those of the track, and its ratio, are not told twice. */
function unpackedSeries(told, track, names) {
  const clock = told.time ? { time: unpacked(told.time) } : { time: track.time, breaks: track.breaks };
  const values = names.map((name) => [
    name, told[name] ? unpacked(told[name]) : track.nees.map((nees, i) => nees / honestAt(track, "middle", i)),
  ]);
  return { ...told, ...clock, ...Object.fromEntries(values) };
}

function rotationLines(rotation, track, n, from, to, chosen, legend) {
  const look = lineOf(n), name = legendName(track.short), both = ["error", "sigma"];
  const more = {
    legendgroup: String(n), opacity: n === chosen ? 1 : 0.55, showlegend: !legend.length,
  };
  return [
    seriesLine(rotation, "error", both, from, to, {
      ...more, name: `${name}: rotation error`, line: { ...look, width: 1.6 },
    }),
    seriesLine(rotation, "sigma", both, from, to, {
      ...more, name: `${name}: claimed sigma`,
      line: { color: look.color, width: 1.4, dash: "dot" },
    }),
  ];
}

/** Spaces have colours of their own, after those of the tracks. */
const ratioLine = (space, who, n, from, to) => seriesLine(space, "ratio", ["ratio"], from, to, {
  name: `${who}NEES of ${space.space}${isBrief() ? "" : ` (${label(space.axes)})`}`, yaxis: "y2",
  line: { ...lineOf(n), width: 1.1 },
});

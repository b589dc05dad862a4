// Error and reported sigma over time: every scan of one estimate, medians and bands of several.

function overTime(place, tracks, words, looked, time) {
  time.add(place, (from, to) => {
    const shown = together(tracks, looked.chosen, words);
    const rolling = shown.length > 1;
    const drawn = shown.map(([track]) => (rolling ? rollingSeries(track) : track));
    return {
      traces: rolling
        ? [...shown.flatMap(([track, n], at) => rollingLines(drawn[at], track.short, n, words, looked.chosen)),
          legendEntry(words.sigma, { color: colour("quiet"), dash: "dot", width: 1.4 })]
        : errorLines(shown[0], from, to, words),
      yaxis: axis("", { type: "log", ...decades(drawn, ["distance", "sigma"], length) }),
    };
  });
}

function errorLines([track, n], from, to, words) {
  const among = track.sigma ? ["distance", "sigma"] : ["distance"], look = lineOf(n);
  const line = (series, more) => seriesLine(track, series, among, from, to, more);
  return [
    line("distance", { name: words.error, line: { ...look, width: 1.6 } }),
    ...(track.sigma ? [line("sigma", { name: words.sigma, line: { color: lineOf(n + 1).color, width: 1.6 } })] : []),
  ];
}

/** Quantiles over windows of time, which the page was given. */
function rollingSeries({ rolling }) {
  if (!rolling.unpacked) {
    const series = Object.entries(rolling).map(([name, values]) => [name, unpacked(values)]);
    rolling.unpacked = Object.fromEntries(series);
  }
  return rolling.unpacked;
}

function rollingLines(series, short, n, words, chosen) {
  const look = lineOf(n), name = legendName(short), group = { legendgroup: String(n) };
  const line = (values, more) => ({
    type: "scatter", mode: "lines", x: [...series.time], y: [...values], hovertemplate: "%{y:.3g}",
    opacity: n === chosen ? 1 : 0.6, ...group, ...more,
  });
  const edge = (values, more) => line(values, {
    line: { width: 0, color: look.color }, hoverinfo: "skip", hovertemplate: undefined, showlegend: false, ...more,
  });
  return [
    edge(series.low, {}),
    edge(series.high, { fill: "tonexty", fillcolor: `${look.color}2b` }),
    line(series.distance, { name, line: { ...look, width: n === chosen ? 2.4 : 1.4 } }),
    ...(series.sigma ? [line(series.sigma, {
      name: `${name}: ${words.sigma}`, showlegend: false, line: { color: look.color, width: 1.4, dash: "dot" },
    })] : []),
  ];
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

// Stanford diagram: scans by error and protection level, a plot for each alert limit.

const REGION_FILL = { HMI: "#D55E0033", MI: "#E69F0026", unavailable: "#88888833" };

function stanfordDiagrams(place, diagrams, looked) {
  const draw = () => {
    const parts = diagrams[looked.chosen] ?? [];
    const down = narrow();
    place.style.height = `${down ? 320 * parts.length : 360}px`;
    place.closest("figure").hidden = !parts.length;
    if (!parts.length) return;
    const layout = layoutOf({
      dragmode: false, hovermode: "closest", showlegend: false, shapes: [], annotations: [],
      margin: { l: 10, r: 10, t: 28, b: 10 },
      grid: { rows: down ? parts.length : 1, columns: down ? 1 : parts.length, pattern: "independent" },
    });
    const drawn = parts.map((part, n) => stanfordPart(part, n ? String(n + 1) : "", layout));
    Plotly.react(place, drawn, layout, CONFIG);
  };
  themed(draw);
  return { redraw: draw, moveTo() {} };
}

/** Draws one plot into the layout; returns its scans. */
function stanfordPart(part, number, layout) {
  const [low, high] = part.ends, { limit } = part;
  const range = part.ends.map(Math.log10), decades = { type: "log", range, dtick: 1, tickformat: "~g" };
  layout[`xaxis${number}`] = axis(`error (${part.unit})`, { ...decades });
  layout[`yaxis${number}`] = axis(`protection level (${part.unit})`, { ...decades });
  const at = { xref: `x${number}`, yref: `y${number}` };
  const line = (x0, y0, x1, y1, dash) => ({
    type: "line", ...at, x0, y0, x1, y1, line: { color: colour("quiet"), width: 1, dash },
  });
  const region = (name, ...corners) => ({
    type: "path", ...at, layer: "below", line: { width: 0 }, fillcolor: REGION_FILL[name],
    path: `M${corners.map((corner) => corner.join(",")).join("L")}Z`,
  });
  layout.shapes.push(
    region("MI", [low, low], [limit, limit], [limit, low]),
    region("HMI", [limit, low], [high, low], [high, limit], [limit, limit]),
    region("unavailable", [low, limit], [high, limit], [high, high], [low, high]),
    line(low, low, high, high, "solid"), line(limit, low, limit, high, "dash"), line(low, limit, high, limit, "dash"),
  );
  const word = (name, x, y, xanchor, yanchor) => layout.annotations.push({
    ...at, x: Math.log10(x), y: Math.log10(y), xanchor, yanchor, showarrow: false,
    text: `${name} ${part.shares[name]}`, font: { size: 12 }, bgcolor: colour("paper"), opacity: 0.85,
  });
  word("unavailable", low, high, "left", "top");
  word("nominal", low, Math.sqrt(low * limit), "left", "middle");
  word("MI", limit, low, "right", "bottom");
  word("HMI", high, limit, "right", "top");
  layout.annotations.push({
    xref: `x${number} domain`, yref: `y${number} domain`, x: 0, y: 1, xanchor: "left", yanchor: "bottom",
    showarrow: false, text: label(part.title), font: { size: 13 },
  });
  return {
    type: "scatter", mode: "markers", x: part.error, y: part.level, xaxis: `x${number}`, yaxis: `y${number}`,
    customdata: part.count,
    marker: {
      symbol: "square", size: 5, color: part.count.map(Math.log10), colorscale: "Viridis",
      cmin: inDark() ? -1 : 0, // the darkest colours would not be seen
    },
    hovertemplate: `%{customdata} scans: error %{x:.3g} ${part.unit}, level %{y:.3g} ${part.unit}<extra></extra>`,
  };
}

"""The floor of a page: the plotting library that ours carries, and one line. SCANS OUT.html."""

import base64
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np

PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>one line</title></head>
<body><div id="plot"></div>
<script id="library" type="text/plain">{library}</script>
<script type="module">
const packed = document.getElementById("library").textContent;
const bytes = Uint8Array.from(atob(packed), (each) => each.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const script = document.createElement("script");
script.textContent = await new Response(stream).text();
document.head.append(script);
Plotly.newPlot("plot", [{{ y: {numbers} }}]);
</script></body></html>
"""

packed = files("smfeval.show") / "templates" / "plotly" / "plotly-gl3d.min.js.gz"
error = np.random.default_rng(0).normal(size=int(sys.argv[1]))
numbers = f"[{','.join(f'{each:.4g}' for each in error)}]"
library = base64.b64encode(packed.read_bytes()).decode()
Path(sys.argv[2]).write_text(PAGE.format(library=library, numbers=numbers))

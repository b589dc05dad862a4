"""Recipes of the docs in other languages than Python: they compile, and what they write is read."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from smfeval import read_innovations
from smfeval.cli.main import main

WATCH = Path(__file__).parents[2] / "docs" / "howto" / "watch.md"
LOOP = """\
#include <cstring>
#include "smfeval_lines.hpp"

struct Vector { double v[4]; double x() const { return v[0]; } double y() const { return v[1]; }
  double z() const { return v[2]; } double w() const { return v[3]; }
  double operator()(int i) const { return v[i]; } };
struct Matrix { double operator()(int i, int j) const { return i == j ? 1e-4 : 0.0; } };

int main(int, char** words) {
  for (int t = 0; t < 40; ++t) {
    const Vector p{{0.1 * t, 0.5, 0.0, 0.0}}, q{{0.0, 0.0, 0.0, 1.0}}, nu{{0.01, -0.02, 0, 0}};
    const std::int64_t stamp = 1700000000000000000 + 100000000LL * t;
    if (!std::strcmp(words[1], "beliefs")) write_belief(stdout, stamp, p, q, Matrix{});
    else write_innovation(stdout, stamp, "gps", t % 4 > 0, 2, nu, Matrix{});
  }
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_the_lines_of_a_plain_loop_in_cpp_are_watched(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _, _, rest = WATCH.read_text().partition('```cpp title="smfeval_lines.hpp"\n')
    Path("smfeval_lines.hpp").write_text(rest.partition("```")[0])
    Path("loop.cpp").write_text(LOOP)
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["g++", *strict, "loop.cpp", "-o", "loop"], check=True)
    for name in ("beliefs", "innovations"):
        done = subprocess.run(["./loop", name], capture_output=True, check=True)
        Path(f"{name}.jsonl").write_bytes(done.stdout)

    rows = [f"{1700000000 + 0.1 * t:.1f} {0.1 * t} 0 0 0 0 0 1" for t in range(40)]
    Path("truth.tum").write_text("\n".join(rows) + "\n")
    watch = ["watch", "beliefs.jsonl", "--ref", "truth.tum", "--gauge", "none", "--once", "--json"]
    assert main(watch) == 1
    alarm = json.loads(capsys.readouterr().out)
    assert alarm["error_m"] == pytest.approx(0.5)
    assert alarm["nees"] == pytest.approx(0.25 / 1e-4)
    (gps,) = read_innovations("innovations.jsonl").sensors
    assert (len(gps), int(gps.accepted.sum())) == (40, 30)
    assert gps.nis == pytest.approx([5.0] * 40)

"""Recipes in other languages than Python compile and are read; those of a law are the tool's."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from smfeval import read_innovations
from smfeval.align.joint import rotate_blocks
from smfeval.cli.main import main
from smfeval.io.telemetry import read_telemetry_table
from smfeval.maths import so3
from support.calibration import grown_pair, growth_law

ROOT = Path(__file__).parents[2]
HOWTO, EXAMPLES = ROOT / "docs" / "howto", ROOT / "examples"
WATCH, TELEMETRY = HOWTO / "watch.md", HOWTO / "telemetry.md"
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


EIGEN = """\
#include <cmath>
#include <fstream>
#include <iomanip>
#include <vector>
namespace Eigen {
struct MatrixXd {  // what the lines use of it
  int r = 0, c = 0; std::vector<double> v;
  MatrixXd() {} MatrixXd(int m, int n) : r(m), c(n), v(m * n) {}
  void resize(int m, int n) { r = m; c = n; v.assign(m * n, 0.0); }
  int rows() const { return r; } int size() const { return r * c; }
  double& operator()(int i, int j) { return v[i * c + j]; }
  double operator()(int i, int j) const { return v[i * c + j]; }
  double squaredNorm() const { double s = 0; for (double x : v) s += x * x; return s; }
  MatrixXd leftCols(int n) const { MatrixXd o(r, n);
    for (int i = 0; i < r; ++i) for (int j = 0; j < n; ++j) o(i, j) = (*this)(i, j);
    return o; }
  MatrixXd transpose() const { MatrixXd o(c, r);
    for (int i = 0; i < r; ++i) for (int j = 0; j < c; ++j) o(j, i) = (*this)(i, j);
    return o; }
  MatrixXd operator/(double d) const { MatrixXd o = *this; for (double& x : o.v) x /= d; return o; }
  MatrixXd operator*(const MatrixXd& b) const { MatrixXd o(r, b.c);
    for (int i = 0; i < r; ++i) for (int j = 0; j < b.c; ++j) for (int k = 0; k < c; ++k)
      o(i, j) += (*this)(i, k) * b(k, j);
    return o; }
};
}
const double LASER_POINT_COV = 0.001;
double lidar_end_time = 1700000000.0;
struct { Eigen::MatrixXd h_x, h; } ekfom_data;
%s
void h_share_model(int matches) {
  %s
  if (matches < 1) return;
  ekfom_data.h_x.resize(matches, 12);
  ekfom_data.h.resize(matches, 1);
  for (int i = 0; i < matches; ++i) ekfom_data.h_x(i, i %% 3) = 1, ekfom_data.h(i, 0) = 0.02;
  %s
}
void write_scan() {
  %s
}
int main() {
  for (int matches : {30, 0, 60, 0}) {
    for (int pass = 0; pass < 2; ++pass) h_share_model(matches);
    write_scan();
    lidar_end_time += 0.1;
  }
}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_the_lines_of_telemetry_leave_no_rows_of_the_scan_before(tmp_path, monkeypatch):
    """Fast-LIO2's model returns early where nothing matches."""
    monkeypatch.chdir(tmp_path)
    kept, written = re.findall(r"```cpp\n(.*?)```", TELEMETRY.read_text(), re.S)[:2]
    globals_, _, kept = kept.removeprefix("// globals:").partition("\n")
    beginning, _, end = kept.partition("\n\n")
    Path("loop.cpp").write_text(EIGEN % (globals_, beginning, end, written))
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *strict, "loop.cpp", "-o", "loop"], check=True)
    subprocess.run(["./loop"], check=True)
    table = read_telemetry_table(Path("updates.csv"))
    assert table.matched.tolist() == [30, 0, 60, 0]
    trace = np.trace(table.information[:, :3, :3], axis1=1, axis2=2)
    np.testing.assert_allclose(trace, [30e3, 0, 60e3, 0])
    np.testing.assert_allclose(table.innovation_rms_m, [0.02, 0, 0.02, 0])


LAW_LOOP = """\
#include <cstdio>
#include "growth_law.hpp"

int main() {
  GrowthLaw law;
  std::scanf("%d", &law.level);
  double* const numbers[8] = {law.position, law.position + 1, law.position + 2, law.rotation,
                              law.rotation + 1, law.rotation + 2, &law.floor_m2, &law.floor_rad2};
  for (double* each : numbers) std::scanf("%lf", each);
  LawCovariance covariance(law);
  double t; std::array<double, 3> p; std::array<double, 4> q;
  while (std::scanf("%lf %lf %lf %lf %lf %lf %lf %lf", &t, &p[0], &p[1], &p[2], &q[0], &q[1], &q[2],
                    &q[3]) == 8) {
    for (double value : covariance.next(p, q, t)) std::printf("%.17g ", value);
  }
}
"""


@pytest.fixture(params=[6, 4, 3])
def followed(request, rng):
    """A law, the poses that it follows, and the covariances of the tool in world axes."""
    turned = (1e-6, 3e-6, 2e-6) if request.param > 3 else (0.0, 0.0, 0.0)
    law = growth_law(request.param, position=(1e-4, 2e-4, 3e-4), rotation=turned)
    track = law.apply(grown_pair(rng, law, 150)[0])
    return law, track, rotate_blocks(so3.matrix(track.rotation), track.covariance)


def assert_same(found, expected):
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.abs(found - expected).max() < 1e-12


def test_the_python_recipe_of_a_growth_law_is_what_the_tool_does(followed, tmp_path):
    law, track, expected = followed
    law.save(tmp_path / "law.json")
    live = run_path(EXAMPLES / "growth_law.py")["LawCovariance"](tmp_path / "law.json")
    rows = zip(track.position, track.rotation, track.stamp / 1e9, strict=True)
    assert_same(np.array([live.next(*row) for row in rows]), expected)


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_the_cpp_recipe_of_a_growth_law_is_what_the_tool_does(followed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    law, track, expected = followed
    Path("loop.cpp").write_text(LAW_LOOP)
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wno-unused-result"]
    subprocess.run(["g++", *strict, f"-I{EXAMPLES}", "loop.cpp", "-o", "loop"], check=True)
    rows = np.column_stack([track.stamp / 1e9, track.position, track.rotation])
    lines = [
        " ".join(map(repr, row)) for row in [[law.level], law.variances.tolist(), *rows.tolist()]
    ]
    text = "\n".join(lines).encode()
    done = subprocess.run(["./loop"], input=text, capture_output=True, check=True)
    assert_same(np.array(done.stdout.split(), dtype=float).reshape(-1, 6, 6), expected)

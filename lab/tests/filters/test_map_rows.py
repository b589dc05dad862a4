"""Rows that a filter elsewhere writes: the lines in C++, and the sums that they make."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from lab_support import room
from smfeval.errors import FormatError
from smfeval.io import write
from smfeval_lab.filters.ieskf import Settings, map_error
from smfeval_lab.filters.ieskf import run as run_ieskf
from smfeval_lab.filters.map_log import unpack
from smfeval_lab.filters.map_rows import read_map_rows
from support.commands import refused, run

PAGE = Path(__file__).parents[3] / "docs" / "research" / "map-log.md"
# What Fast-LIO2 has where the lines are put: its names, types that differ, the order of its steps.
FILTER = """\
#include <cmath>
#include <cstdlib>
#include <map_rows.hpp>

std::FILE* given;
double number() { double x = 0; if (std::fread(&x, 8, 1, given) != 1) std::exit(1); return x; }
template <int R, int C, int Kind = 0> struct Matrix { double v[R * C];
  static Matrix read() { Matrix m; for (double& each : m.v) each = number(); return m; }
  const Matrix& toRotationMatrix() const { return *this; }
  double operator()(int i, int j) const { return v[i * C + j]; } };
struct PointType { float x, y, z, intensity, normal_x; };
struct { Matrix<17, 17> P; const Matrix<17, 17>& get_P() const { return P; } } kf;
struct { Matrix<3, 1, 1> pos; Matrix<3, 3> rot; Matrix<3, 1, 2> vel; } state_point;
struct { double lidar_beg_time, lidar_end_time; } Measures;
struct { Matrix<1, 6> h_x; } ekfom_data;
double LASER_POINT_COV, range_m2;

int main(int, char** names) {
  given = std::fopen(names[1], "rb");
  @begin
  for (int scans = number(); scans > 0; --scans) {
    const double lidar_end_time = number(), add_point_size = number();
    Measures = {0, number()}; LASER_POINT_COV = number(); range_m2 = number();
    for (int steps = number(); steps > 0; --steps) {
      const auto F_x1 = Matrix<17, 17>::read();
      @predict
    }
    kf.P = Matrix<17, 17>::read();
    @prior
    kf.P = Matrix<17, 17>::read();
    state_point.pos = Matrix<3, 1, 1>::read(); state_point.rot = Matrix<3, 3>::read();
    state_point.vel = Matrix<3, 1, 2>::read();
    const auto rate = Matrix<3, 1>::read();
    @clear
    for (int rows = number(); rows > 0; --rows) {
      const int i = 0;
      ekfom_data.h_x = Matrix<1, 6>::read();
      PointType norm_p{}, at{}, near[5] = {};
      norm_p.intensity = number();
      for (float* each : {&at.x, &at.y, &at.z}) *each = number();
      for (PointType& each : near)
        for (float* part : {&each.x, &each.y, &each.z, &each.normal_x}) *part = number();
      @row
    }
    @scan
  }
  std::fclose(map_rows.file);
}
"""


def filter_with(lines):
    """The filter with the lines of the page in their places; its own error state has 17 states."""
    lines = lines.replace("23, 12, 15", "17, 6, 9").replace("0.02 * 0.02", "range_m2")
    statements = re.sub(r"//.*", "", lines).split(";")[:-1]
    code, places = FILTER, ("begin", "predict", "prior", "clear", "row", "scan")
    for place, statement in zip(places, statements, strict=True):
        code = code.replace(f"@{place}\n", f"{statement};\n")
    return code


@pytest.fixture(scope="module")
def followed():
    """A run with what each scan gave to `MapError`, and the belief that it reported."""
    given, follow = [], map_error.MapError.follow

    def kept_too(self, *scan):
        given.append(scan)
        return follow(self, *scan)

    recording = room.recording(31, duration_s=2.5, count=600, sweep=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(map_error.MapError, "follow", kept_too)
        done = run_ieskf(recording, Settings(map_error="carried"))
    return given, done.belief


def numbers_of(given):
    """What the filter in C++ reads."""
    yield [len(given)]
    for update, F, way, scan_s, kept in given:
        state, look = update.posterior, update.last
        half = np.eye(17)  # two steps of the IMU, of which the second does nothing
        yield (
            [state.stamp / 1e9, kept, scan_s, update.variance, Settings().range_sigma_m ** 2, 2],
            F,
            half,
        )
        yield update.prior.covariance, state.covariance
        yield state.position, state.rotation, state.velocity, way.rate[-1]
        yield [update.matched]
        if look is None:
            continue
        fit = np.zeros((update.matched, 5, 4))
        fit[:, :, :3], fit[:, :, 3] = look.planes.point[look.used], look.planes.birth[look.used]
        sign = np.where(np.arange(update.matched) % 2, 1.0, -1.0)[:, None]  # normals either way
        row = [sign * look.H, sign * update.posterior_residual[:, None], look.place]
        yield (np.concatenate([*row, fit.reshape(-1, 20)], axis=1),)


@pytest.fixture(scope="module")
def rows(followed, tmp_path_factory):
    """What the lines of the page write."""
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("cpp")
    header, lines = re.findall(r"```cpp.*?\n(.*?)```", PAGE.read_text(), re.S)
    (folder / "map_rows.hpp").write_text(header)
    (folder / "filter.cpp").write_text(filter_with(lines))
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-I."]
    subprocess.run(["g++", *strict, "filter.cpp", "-o", "filter"], check=True, cwd=folder)
    arrays = [np.ravel(each) for group in numbers_of(followed[0]) for each in group]
    np.concatenate(arrays).astype("<f8").tofile(folder / "given.bin")
    subprocess.run(["./filter", "given.bin"], check=True, cwd=folder)
    return (folder / "map.rows").read_bytes()


@pytest.fixture
def written(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("map.rows").write_bytes(rows)
    return Path("map.rows")


def test_rows_in_cpp_lead_to_the_covariance_of_the_lab(written, followed, capsys):
    """From the first scan on, which is where the world of the file begins."""
    given, belief = followed
    live = map_error.MapError(given[0][0].prior, Settings(map_error="carried"))
    log = read_map_rows(written)
    difference = []
    poses, still = log.poses(0), (given[0][0], np.eye(17), *given[0][2:])
    for scan, row in zip((still, *given[1:]), log.rows, strict=True):
        expected = live.follow(*scan)
        found = poses.follow(unpack(row), reported=True)
        sigma = np.sqrt(np.diag(expected)) + 1e-9
        difference.append(np.abs((found - expected) / np.outer(sigma, sigma)).max())
    assert sigma[:3].min() > 1e-4
    assert max(difference) < 2e-3
    write(belief, Path("est.square"))
    outcome = run(capsys, "lab", "remap", written, "est.square", "-o", "carried.square", "-q")
    assert outcome.out.startswith("wrote carried.square: ")


def test_a_file_that_breaks_off_ends_with_its_last_whole_scan(written):
    whole = read_map_rows(written)
    assert not whole.breaks_off
    written.write_bytes(written.read_bytes()[:-1000])
    cut = read_map_rows(written)
    assert cut.breaks_off
    assert len(cut.stamp) == len(whole.stamp) - 1


def test_junk_is_refused_in_a_sentence(written, followed, capsys):
    write(followed[1], Path("est.square"))
    words = ("lab", "remap", written, "est.square", "-o", "new.square")
    good = written.read_bytes()
    for junk, sentence in (
        (good[:8], "no rows of a map"),
        (good[:8] + b"\xff" * 200, "no rows of a map"),
        (good[:100], "there is no whole scan"),
        (good[:32] + b"\xff" * 20000, "is none"),
        (good[:8] + np.array([18, 6, 9]).tobytes() + good[32:], "are matrices of (18, 18) right"),
    ):
        written.write_bytes(junk)
        assert sentence in refused(capsys, *words)


def test_a_birth_that_was_not_yet_is_refused(written):
    damaged = bytearray(written.read_bytes())
    damaged[-4:] = np.float32([99]).tobytes()
    written.write_bytes(bytes(damaged))
    with pytest.raises(FormatError, match="births 0 to 99"):
        read_map_rows(written)


def test_a_negative_variance_is_refused(written):
    damaged = bytearray(written.read_bytes())
    damaged[32 + 32 : 32 + 40] = np.array([-1.0]).tobytes()
    written.write_bytes(bytes(damaged))
    with pytest.raises(FormatError, match="variance -1"):
        read_map_rows(written)


def test_updates_one_after_the_other_are_one_update(rng):
    """As the page says of Point-LIO; with transitions between them rows are carried to the end."""
    d, n, r = 9, 40, 1e-2
    root = rng.normal(size=(d, d))
    P0 = root @ root.T
    h = np.zeros((n, d))
    h[:, :6] = rng.normal(size=(n, 6))
    residual = rng.normal(size=n)
    F = np.eye(d) + 0.01 * rng.normal(size=(n, d, d))
    for between in (np.broadcast_to(np.eye(d), F.shape), F):
        P, product, shift, carried, late = P0, np.eye(d), np.zeros(d), [], np.eye(d)
        for i in range(n):
            P = between[i] @ P @ between[i].T
            K = P @ h[i] / (h[i] @ P @ h[i] + r)
            step = np.eye(d) - np.outer(K, h[i])
            product, shift = (
                step @ between[i] @ product,
                step @ between[i] @ shift + K * residual[i],
            )
            P = P - np.outer(K, h[i]) @ P
        for i in reversed(range(n)):
            carried.append(h[i] @ np.linalg.inv(late))
            late = late @ between[i]
        H = np.array(carried[::-1])
        A = H.T @ H / r
        np.testing.assert_allclose(product, (np.eye(d) - P @ A) @ late, atol=1e-9)
        np.testing.assert_allclose(shift, P @ H.T @ residual / r, atol=1e-9)

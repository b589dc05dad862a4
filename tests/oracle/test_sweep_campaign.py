"""Sweeps of real filters against the slopes that the campaign's README.md prints."""

import pytest

from smfeval.compare.sweep import sweep_of
from smfeval.show.sweep import knob_sentences
from smfeval.studies.sweep import points_of_files, read_sweep

PLAN = """
[options]
gauge = "se3"
interval = "none"
association = "{association}"

[[knobs]]
name = "Rx"
values = [0.01, 0.1, 1, 10, 100]
default = 1

[[knobs]]
name = "voxel"
values = [0.3, 0.5, 0.8, 1.2]
default = 0.5

[[knobs]]
name = "Qx"
values = [0.1, 1, 10]
default = 1

[[knobs]]
name = "iter"
values = [1, 3, 10]
default = 3

[[tracks]]
name = "college_1"
reference = "{folder}/reference.tum.gz"

[[estimators]]
name = "fastlio2"
path = "{folder}/fastlio2_{{knob}}{{value}}.txt.gz"
base = "{folder}/fastlio2_Rx1.txt.gz"
convention = "world-position"
order = "translation-first"

[[estimators]]
name = "pointlio"
knobs = ["Rx", "voxel"]
path = "{folder}/pointlio_{{knob}}{{value}}.txt.gz"
base = "{folder}/pointlio_Rx1.txt.gz"
convention = "world-position"
order = "translation-first"
"""

# Slope of log10 NEES per nat, runs, and our verdict; the slopes are those of the README.
EXPECTED = {
    ("fastlio2", "Rx"): (0.158, 5, "not more accurate"),
    ("fastlio2", "voxel"): (0.039, 4, "undecided"),
    ("fastlio2", "Qx"): (0.090, 3, "undecided"),
    ("fastlio2", "iter"): (None, 3, "unmoved"),
    ("pointlio", "Rx"): (0.279, 5, "worse"),
    ("pointlio", "voxel"): (0.126, 4, "undecided"),
}
# The value of Rx with k = median NEES / 2.366 nearest 1 in the README, and that k.
BEST = {"fastlio2": ("100", 4.64 / 2.366), "pointlio": ("10", 3.14 / 2.366)}
PRECISION = {"0.01": "53.02", "0.1": "46.53", "1": "40.44", "10": "34.70", "100": "29.13"}


def swept(shared_data, tmp_path, association):
    path = tmp_path / "sweep.toml"
    folder = shared_data / "campaign" / "sweep"
    path.write_text(PLAN.format(folder=folder, association=association))
    points, failures = points_of_files(read_sweep(path), workers=1)
    assert (len(points), failures) == (20, ())
    return sweep_of(points)


def check(sweep, tolerance):
    found = {(effect.estimator, effect.knob): effect for effect in sweep.effects}
    assert found.keys() == EXPECTED.keys()
    for name, (slope, runs, label) in EXPECTED.items():
        effect = found[name]
        assert (effect.tracks[0].runs, effect.label) == (runs, label), name
        if slope is None:
            assert effect.nees_slope is None
        else:
            assert effect.nees_slope.value == pytest.approx(slope, abs=tolerance), name


def test_the_slopes_of_the_campaign_come_out(shared_data, tmp_path):
    """The nearest pose of the reference moves a slope by up to 0.001."""
    sweep = swept(shared_data, tmp_path, "nearest")
    check(sweep, 1.1e-3)
    for effect in sweep.effects:
        if effect.knob == "Rx":
            value, k = BEST[effect.estimator]
            assert (effect.sharper, effect.best) == ("smaller", value)
            assert effect.best_k == pytest.approx(k, rel=0.02)
    assert knob_sentences(sweep)[0].startswith(
        "A smaller Rx makes both estimators more confident, not more accurate (the errors of "
        "pointlio grow). Best tried (k nearest 1): Rx 100 for fastlio2"
    )
    printed = {
        dict(point.settings)["Rx"]: f"{point.precision.value:.2f}"
        for point in sweep.points
        if point.estimator == "fastlio2"
        and dict(point.settings) | {"Rx": ""} == {"Rx": "", "voxel": "0.5", "Qx": "1", "iter": "3"}
    }
    assert printed == PRECISION


@pytest.mark.slow
def test_with_a_continuous_reference_they_come_out_to_the_digit(shared_data, tmp_path):
    check(swept(shared_data, tmp_path, "gp"), 6e-4)

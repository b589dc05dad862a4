"""The verbs as functions: paths or tracks, and options as keywords."""

import inspect
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import smfeval
from smfeval import OptionError, Options, SmfevalError
from smfeval.align.quantities import Extent, ReferenceSigma
from smfeval.evaluation import evaluate as evaluate_tracks
from smfeval.io import read, write
from smfeval.verbs import evaluate_all
from support import study_folders, sweep_folders
from support.commands import run
from support.study_folders import estimate, truth


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(estimate(1), "a.square")
    write(estimate(2), "b.square")
    write(estimate(3, error_m=0.5), "bold.square")
    write(truth(), "ref.tum", lossy=True)
    return tmp_path


def test_paths_and_keywords_give_what_tracks_and_options_give(here):
    options = Options(alignment="yaw", axes="xy", tolerance_s=0.01)
    expected = evaluate_tracks(read("a.square"), read("ref.tum"), options=options)
    found = smfeval.evaluate("a.square", Path("ref.tum"), gauge="yaw", axes="xy", tolerance="10ms")
    assert found.to_dict() == expected.to_dict()
    mixed = smfeval.evaluate(read("a.square"), "ref.tum", options=options)
    assert mixed.to_dict() == expected.to_dict()


def test_a_keyword_changes_one_of_the_options(here):
    found = smfeval.evaluate("a.square", "ref.tum", options=Options(axes="xy"), gauge="none")
    assert (found.options.axes, found.options.alignment) == ("xy", "none")


def test_values_may_come_from_numpy_and_lists_may_be_tuples(here):
    found = smfeval.evaluate(
        "a.square", "ref.tum", offset=np.float64(0), seed=np.int64(3), rules=("energy",),
        horizons="10", ref_exact=True,
    )  # fmt: skip
    assert found.options.intervals.seed == 3
    assert found.options.rules == ("energy",)
    assert len(found.relative) == 1
    assert not found.options.reference_covariance


def test_the_noise_of_a_reference_may_be_a_text_a_number_or_what_they_mean(here):
    sigma = ReferenceSigma(0.01)
    for said in ("1cm", 0.01, np.float64(0.01), sigma):
        found = smfeval.evaluate("a.square", "ref.tum", ref_sigma=said, ref_shared=said)
        assert found.options == Options(ref_sigma=sigma, ref_shared=sigma, tolerance_s=0.005)


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"guage": "yaw"}, "evaluate: the option 'guage' is unknown; 'gauge' may be meant"),
        ({"gauge": "yawn"}, "gauge 'yawn' is unknown; 'yaw' may be meant"),
        ({"tolerance": None}, "tolerance is to be a number of seconds"),
        ({"axes": 3}, "axes is to be a text"),
        ({"ref_format": "tum"}, "the option 'ref_format' is unknown"),
    ],
)
def test_a_wrong_keyword_is_named(here, keywords, sentence):
    with pytest.raises(OptionError, match=re.escape(sentence)):
        smfeval.evaluate("a.square", "ref.tum", **keywords)


def test_options_of_reading_are_refused_where_nothing_is_read(here):
    tracks = read("a.square"), read("ref.tum")
    with pytest.raises(OptionError, match="format says how to read a file"):
        smfeval.evaluate(*tracks, format="tum")


def test_bad_rows_that_are_dropped_drop_singular_scans_too(here):
    found = smfeval.evaluate("a.square", "ref.tum", bad_rows="drop")
    assert found.options.singular == "drop"


def test_an_extrinsic_may_be_written_as_on_the_command_line(here):
    moved = smfeval.evaluate("a.square", "ref.tum", extrinsic="1,0,0,0,0,0,1", gauge="none")
    pose = np.array([1.0, 0, 0]), np.array([0, 0, 0, 1.0])
    same = smfeval.evaluate("a.square", "ref.tum", extrinsic=pose, gauge="none")
    assert moved["mae"] == same["mae"]
    assert moved["mae"].value > 0.5


def test_several_estimates_are_scored_as_the_verb_does(here, capsys):
    found = evaluate_all(["a.square", "b.square"], "ref.tum", common=True, horizons=Extent(2, "s"))
    flags = ("--ref", "ref.tum", "--common", "--horizon", "2s", "--json")
    said = run(capsys, "score", "a.square", "b.square", *flags)
    documents = [each.to_dict() for each in found]
    assert json.loads(json.dumps(documents)) == json.loads(said.out)["results"]
    with pytest.raises(OptionError, match="evaluate_all: the option 'guage' is unknown"):
        evaluate_all(["a.square"], "ref.tum", guage="yaw")


def test_pair_is_the_verb(here, capsys):
    found = smfeval.pair("a.square", "b.square", read("bold.square"), gauge="none")
    said = run(capsys, "pair", "a.square", "b.square", "bold.square", "--gauge", "none", "--json")
    assert json.loads(json.dumps(found.to_dict())) == json.loads(said.out)
    assert [pair.claim.label for pair in found.pairs[1:]] == ["overconfident"] * 2
    with pytest.raises(OptionError, match="a pair needs two tracks"):
        smfeval.pair("a.square")


def test_study_leaves_what_the_verb_leaves(tmp_path):
    plan = study_folders.planned(study_folders.simple(tmp_path), study_folders.FAST)
    study = smfeval.study(plan, workers=1)
    assert {each.estimator for each in study.results} == {"good", "bold"}
    assert (study.plan.output / "tables.md").is_file()
    assert study.to_polars()["track"].n_unique() == 2


def test_sweep_measures_files(tmp_path):
    sweep_folders.turned(tmp_path, ("one",))
    plan = sweep_folders.PLAN.replace(', "two", "three"', "")
    found = smfeval.sweep(study_folders.planned(tmp_path, plan), workers=1)
    assert len(found.to_polars()) == len(found.points)
    assert found.effects[0].knob == "R"


def test_examine_takes_a_path(here):
    assert smfeval.examine("a.square").scorable.axes == "xyz"
    with pytest.raises(SmfevalError, match="no such file"):
        smfeval.examine("nothing.square")


def test_a_correction_is_learnt_from_paths_and_applied(here):
    for hours, name in enumerate(("a", "b", "bold")):  # recordings of their own
        for track, path in ((read(f"{name}.square"), f"{name}.square"), (truth(), f"{name}.tum")):
            later = replace(track, stamp=track.stamp + hours * 3600 * 10**9)
            write(later, path, lossy=True)
    *pairs, test = [(f"{name}.square", f"{name}.tum") for name in ("a", "b", "bold")]
    found = smfeval.calibrate(pairs, [test], gauge="none", model="scale")
    assert [row.name for row in found.held_out] == ["bold"]
    (row,) = found.to_polars().select("track", "verdict", "k_before", "k_after").to_dicts()
    assert (row["track"], row["verdict"]) == ("bold", "not better")
    assert (row["k_before"], row["k_after"]) == tuple(
        getattr(found.held_out[0], when).k for when in ("before", "after")
    )
    found.save("found.json")
    assert smfeval.load("found.json").to_polars().equals(found.to_polars())
    assert found.plot().axes[0].get_xlabel() == "k"
    assert "publish" in found._repr_html_()
    found.correction.save("c.json")
    again = smfeval.read_correction("c.json")
    assert again.factors == found.correction.factors
    corrected = again.apply(read("a.square"))
    assert np.allclose(corrected.covariance, again.rotation * read("a.square").covariance)
    with pytest.raises(OptionError, match="calibrate: the option 'gage' is unknown"):
        smfeval.calibrate(pairs, gage="none")
    with pytest.raises(OptionError, match=r"in pairs: \[\(estimate, reference\), \.\.\.\]"):
        smfeval.calibrate(("a.square", "ref.tum"))


@pytest.mark.parametrize("name", smfeval.__all__)
def test_signatures_are_short_in_help(name):
    """Types are shown by their names: ArrayLike, not the union behind it."""
    public = getattr(smfeval, name)
    if inspect.isfunction(public) or (inspect.isclass(public) and name.endswith("Track")):
        text = str(inspect.signature(public))
        assert "numpy" not in text
        assert len(text) < 450, text

"""What results and tracks can do in Python."""

import json
import re
from importlib.resources import files

import jsonschema
import pytest

import smfeval
from smfeval import FormatError, OptionError
from smfeval.track.beliefs import Provenance
from support.beliefs import gaussian
from support.evaluations import evaluated, plain
from support.study_folders import estimate

HOSTILE = '<script>alert("1")</script>\x1b[31m'


@pytest.fixture
def evaluation(rng):
    return evaluated(rng, tightness=9.0)


def test_a_table_has_one_row_and_the_ends_of_intervals(evaluation):
    frame = evaluation.to_polars()
    assert len(frame) == 1
    assert frame["k"][0] == evaluation["k"].value
    assert frame["coverage_90"][0] == evaluation["coverage_90"].value
    assert frame["k_rotation"][0] == evaluation["k_rotation"].value
    assert frame["verdict"][0] == evaluation.verdict.label
    assert {"k_low", "k_high"} <= set(frame.columns)


def test_pandas_has_the_same_table(evaluation):
    pytest.importorskip("pandas")
    polars, pandas = evaluation.to_polars(), evaluation.to_pandas()
    assert list(pandas.columns) == polars.columns
    assert pandas["rmse"][0] == polars["rmse"][0]


def test_scans_have_a_table_of_their_own(evaluation):
    assert evaluation.per_scan()["nees"].to_list() == list(evaluation.position.series["nees"])


def test_what_is_saved_is_loaded(evaluation, tmp_path):
    evaluation.save(tmp_path / "a.json")
    saved = smfeval.load(tmp_path / "a.json")
    assert saved.kind == "score"
    assert json.dumps(saved.to_dict()) == json.dumps(evaluation.to_dict())
    assert saved.to_polars().equals(evaluation.to_polars(), null_equal=True)
    assert "score, 1 row" in repr(saved)
    assert evaluation.verdict.label in saved._repr_html_()
    with pytest.raises(OptionError, match="no scans to draw"):
        saved.plot()


def test_poses_without_a_belief_are_saved_too(rng, tmp_path):
    found = plain(rng)
    found.save(tmp_path / "a.json")
    frame = smfeval.load(tmp_path / "a.json").to_polars()
    assert frame["rmse"][0] == found["rmse"].value
    assert "k" not in frame.columns


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[1]",
        '{"schema": "smfeval.score/2"}',
        '{"schema": ["smfeval.score/1"]}',
        '{"schema": "smfeval.score/1", "k": NaN}',
        "[" * 100_000,
        "\ud800",
    ],
)
def test_what_is_no_result_is_refused_in_a_sentence(text, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(FormatError, match=r"a\.json: this is no"):
        smfeval.load(path)


@pytest.mark.parametrize("broken", ["scores", "verdict", "estimate"])
def test_a_document_that_is_not_as_its_schema_says_is_refused(evaluation, tmp_path, broken):
    document = evaluation.to_dict() | {broken: 3}
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"not as the schema smfeval\.score/1 says"):
        smfeval.load(tmp_path / "a.json").to_polars()


def test_a_notebook_shows_verdict_numbers_and_a_figure(evaluation):
    shown = evaluation._repr_html_()
    assert evaluation.verdict.headline.partition(":")[0] in shown
    assert re.search(r"<th[^>]*>error</th>", shown)
    assert 'src="data:image/png;base64,' in shown


def test_names_of_files_are_text_in_a_notebook(rng):
    for shown in (
        evaluated(rng, name=HOSTILE)._repr_html_(),
        gaussian(4, rng).with_arrays({}, provenance=Provenance(name=HOSTILE))._repr_html_(),
        smfeval.pair(*_named(HOSTILE, "b"))._repr_html_(),
    ):
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown
        assert "\x1b" not in shown


def _named(*names):
    return [
        estimate(seed).with_arrays({}, provenance=Provenance(name=name))
        for seed, name in enumerate(names)
    ]


def test_figures_are_drawn_by_name(evaluation):
    assert evaluation.plot().get_axes()
    png = evaluation.plot("nees")._repr_png_()
    assert png.startswith(b"\x89PNG")
    with pytest.raises(OptionError, match="'ness' is unknown here; 'nees' may be meant"):
        evaluation.plot("ness")
    with pytest.raises(OptionError, match="unknown here"):
        evaluation.plot("forest")


def test_a_track_tells_what_it_is(rng):
    track = gaussian(4, rng)
    assert repr(track) == (
        "GaussianTrack(arrays: 4 scans in 300 ms; body imu, world world, gauge se3)"
    )
    assert "4 in 300 ms" in track._repr_html_()
    assert track.plot("sigma").get_axes()


def test_public_names_alone_are_listed():
    assert dir(smfeval) == sorted(["__version__", *smfeval.__all__])


def test_a_function_is_not_hidden_by_a_folder_of_its_name():
    import smfeval.cli.study  # noqa: PLC0415  imports all that it needs

    assert all(callable(getattr(smfeval, name)) for name in ("evaluate", "pair", "study", "sweep"))


def test_the_schema_of_tables_is_strict():
    schema = json.loads(files("smfeval").joinpath("schemas/table.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)

"""Results of evalio and of evo are drafted as studies."""

import json
import zipfile

import numpy as np
import pytest

from smfeval.studies.draft import plan_of_folder
from support.commands import run


def rows(seed, separator, start=0):
    t = 1_700_000_000 + 0.1 * np.arange(start, 60)
    x = np.stack([t - t[0], np.sin(t), 0.1 * np.cos(t)], axis=1)
    x += 0.01 * seed * np.random.default_rng(seed).normal(size=x.shape)
    lines = (
        separator.join([f"{when:.9f}", *(f"{v:.9f}" for v in place), "0", "0", "0", "1"])
        for when, place in zip(t, x, strict=True)
    )
    return "\n".join(lines) + "\n"


def put_evalio(path, seed, **said):
    """As evalio writes: YAML after #, then the names of the columns, then rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    header = "".join(f"# {key}: {value}\n" for key, value in said.items())
    names = "#\n# timestamp, x, y, z, qx, qy, qz, qw\n"
    path.write_text(header + names + rows(seed, ","))


@pytest.fixture
def evalio(tmp_path):
    folder = tmp_path / "evalio_results"
    for site in ("basement_2", "attic_to_upper"):
        place, sequence = folder / "hilti_2022" / site, f"hilti_2022/{site}"
        put_evalio(place / "truth_of_it.csv", 0, sequence=sequence, type="ground_truth")
        for seed, name in enumerate(("kiss", "ct_v2"), start=1):
            said = {"name": f"{name} tuned", "pipeline": name, "sequence": sequence}
            put_evalio(place / f"{name}.csv", seed, **said, type="experiment", status="complete")
    put_evalio(place / "slow.csv", 3, pipeline="slow", sequence=sequence, status="fail")
    (folder / "config.yaml").write_text("pipelines: []\n")
    return folder


def test_folders_of_evalio_are_studies_by_their_headers(evalio, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    drafted = run(capsys, "study", "--init", "evalio_results", "-o", "study.toml")
    assert drafted.code == 0, drafted.err
    assert "2 estimators, 2 tracks" in drafted.out
    assert "slow.csv: a run that evalio calls fail" in drafted.err
    text = (tmp_path / "study.toml").read_text()
    assert 'name = "kiss tuned"\npath = "evalio_results/{group}/{track}/kiss.csv"' in text
    outcome = run(capsys, "study", "study.toml", "--workers", "1", "-q")
    assert outcome.code == 0, outcome.err
    assert "4 runs scored, 0 failed" in outcome.out


def put_evo(path, reference, estimate, seed, start=0, *, tracks=True):
    """As evo's save_res_file does."""
    with zipfile.ZipFile(path, "w") as archive:
        info = {"title": "APE", "ref_name": reference, "est_name": estimate}
        archive.writestr("info.json", json.dumps(info))
        archive.writestr("stats.json", "{}")
        if tracks:
            archive.writestr(f"{reference}.tum", rows(0, " ", start))
            archive.writestr(f"{estimate}.tum", rows(seed, " ", start))


def test_result_files_of_evo_are_studies(capsys, monkeypatch, tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    for at, track in enumerate(("MH01", "MH02")):
        put_evo(folder / f"orb_{at}.zip", f"gt/{track}.txt", "est/orb.txt", 1)
        put_evo(folder / f"sptam_{at}.zip", f"gt/{track}.txt", "est/sptam.txt", 2, start=5)
    put_evo(folder / "bare.zip", "gt/MH03.txt", "est/orb.txt", 1, tracks=False)
    (folder / "other.zip").write_bytes(b"PK no")
    monkeypatch.chdir(tmp_path)
    drafted = run(capsys, "study", "--init", "results", "-o", "study.toml")
    assert drafted.code == 0, drafted.err
    assert "bare.zip: no tracks in it: evo_config set save_traj_in_zip true" in drafted.err
    assert "other.zip: no result file of evo" in drafted.err
    assert len((tmp_path / "evo_tracks/MH01/evo_reference.tum").read_text().splitlines()) == 60
    outcome = run(capsys, "study", "study.toml", "--workers", "1", "-q")
    assert outcome.code == 0, outcome.err
    assert "4 runs scored, 0 failed" in outcome.out


@pytest.mark.parametrize("name", ["..", "gt/../..", "evo_reference.txt"])
def test_no_name_in_a_result_file_leads_elsewhere(tmp_path, name):
    put_evo(tmp_path / "a.zip", "gt/MH01.txt", name, 1)
    with pytest.raises(Exception, match="no estimates with references are found"):
        plan_of_folder(tmp_path)

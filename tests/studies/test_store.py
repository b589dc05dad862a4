"""Results as Parquet: what a reader finds, whoever the reader is."""

import os
from dataclasses import replace
from glob import escape
from math import inf, nan
from pathlib import Path

import duckdb
import polars as pl
import pytest

from smfeval import write
from smfeval.errors import OptionError
from smfeval.studies import store
from smfeval.studies.result import PairResult, TaskResult
from smfeval.studies.run import run_tasks
from smfeval.studies.store import (
    link_scans,
    remove_other_scans,
    scans_path,
    write_pairs,
    write_tasks,
)
from smfeval.studies.task import Input
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import metrics
from smfeval.track import Track
from support.beliefs import ABOUT, circuit
from support.study_plans import quick, tasks_of


def load_scans(output):
    """Every scan of a study as polars reads it: with columns group, estimator, track, repeat.

    The names stay text: left to itself, a reader would take the track 07 for the number 7.
    """
    frame = pl.scan_parquet(
        Path(escape(str(output.absolute()))) / store.SCANS / "**" / "*.parquet",
        hive_schema=pl.Schema(store.PARTITIONS),
        hive_partitioning=True,
        include_file_paths="file",
    )
    repeat = pl.col("file").str.extract(r"repeat-(\d+)\.parquet$").cast(pl.Int64)
    return frame.with_columns(repeat=repeat).drop("file")


NASTY = ["a/b", "50 % = half", "ünï", "07", "..", "x'y\"z", "a:b*?", "__HIVE_DEFAULT_PARTITION__x"]
RESULT = TaskResult("e", "g", "t", 0, "k", "s", None)


def test_a_row_holds_what_the_task_found(tmp_path):
    mae = Number(1.5, "m", 1.0, 2.0, 12.5)
    log = Number(inf, "nat", reason="too short")
    good = replace(RESULT, scans=9, scored=8, verdict="v", numbers=(("mae", mae), ("log", log)))
    bad = replace(RESULT, repeat=1, failure="why", notes=("one", "two"))
    write_tasks([good, bad], tmp_path)
    first, second = pl.read_parquet(tmp_path / "tasks.parquet").to_dicts()
    assert (first["estimator"], first["group"], first["track"], first["repeat"]) == (*"egt", 0)
    assert (first["scans"], first["scored"], first["verdict"], first["failure"]) == (
        9,
        8,
        "v",
        None,
    )
    assert [first[f"mae{end}"] for end in ("", "_low", "_high", "_n_effective", "_reason")] == [
        1.5,
        1.0,
        2.0,
        12.5,
        None,
    ]
    assert (first["log"], first["log_low"], first["log_reason"]) == (inf, None, "too short")
    assert (first["crps"], first["k"]) == (None, None)
    assert (second["failure"], second["notes"], second["mae"]) == ("why", ["one", "two"], None)
    assert all(name in first for name in metrics())


def test_what_is_not_a_number_is_null(tmp_path):
    write_tasks([replace(RESULT, numbers=(("mae", Number(nan, "m")),))], tmp_path)
    assert pl.read_parquet(tmp_path / "tasks.parquet")["mae"].to_list() == [None]


def test_a_row_of_pairs_holds_what_was_compared(tmp_path):
    k = Number(2.0, "1", 1.5, None, 20.0)
    write_pairs([PairResult("a", "b", "g", "t", 3, "key", None, 7, "overconfident", k)], tmp_path)
    (row,) = pl.read_parquet(tmp_path / "pairs.parquet").to_dicts()
    assert (row["a"], row["b"], row["repeat"], row["matched"]) == ("a", "b", 3, 7)
    assert (row["k_pair"], row["k_pair_low"], row["nees_median"]) == (2.0, 1.5, None)


@pytest.mark.parametrize("results", [[], [RESULT], [RESULT, replace(RESULT, repeat=1)]])
def test_columns_and_bytes_do_not_depend_on_what_was_found(results, tmp_path):
    first = write_tasks(results, tmp_path).read_bytes()
    assert write_tasks(results, tmp_path).read_bytes() == first
    assert pl.read_parquet_schema(tmp_path / "tasks.parquet") == pl.Schema(store.task_columns())


@pytest.fixture
def nasty(tmp_path):
    """A study of one track whose estimator has a different awkward name each time."""
    plan = quick(tmp_path, tracks=1, scans=30)
    one = tasks_of(plan)[0]
    tasks = [replace(one, estimator=name, track=name, group=name) for name in NASTY]
    ran = run_tasks(plan, tasks, workers=1)
    assert [each.failure for each in ran.results] == [None] * len(NASTY)
    return plan.output


def test_our_reader_gives_every_name_back(nasty):
    frame = load_scans(nasty).collect()
    counted = frame.group_by("estimator", "track", "group").len().sort("estimator")
    assert counted["estimator"].to_list() == sorted(NASTY)
    assert counted["track"].to_list() == counted["group"].to_list() == sorted(NASTY)
    assert counted["len"].to_list() == [30] * len(NASTY)
    assert frame["repeat"].unique().to_list() == [0]


def test_duckdb_gives_every_name_back(nasty):
    found = duckdb.sql(
        f"select estimator, track, count(*), avg(energy) from read_parquet("
        f"'{nasty}/scans/**/*.parquet', hive_partitioning = true, hive_types_autocast = false) "
        "group by all order by all"
    ).fetchall()
    ours = load_scans(nasty).select(pl.col("energy").mean()).collect().item()
    assert [row[0] for row in found] == sorted(NASTY)
    assert [row[1] for row in found] == sorted(NASTY)
    assert {row[2] for row in found} == {30}
    assert [row[3] for row in found] == pytest.approx([ours] * len(NASTY), rel=1e-12)


def test_plain_polars_reads_the_folder(tmp_path):
    plan = quick(tmp_path, tracks=2, scans=30)
    run_tasks(plan, tasks_of(plan), workers=1)
    frame = pl.read_parquet(plan.output / "scans", hive_partitioning=True)
    assert frame.height == 120
    assert frame["estimator"].unique().sort().to_list() == ["honest", "tight"]


def test_the_query_of_the_page_on_studies_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "howto" / "studies.md").read_text()
    query = page.split("```sql\n")[1].split("```")[0]
    plan = quick(tmp_path, tracks=2, scans=30)
    run_tasks(plan, tasks_of(plan), workers=1)
    monkeypatch.chdir(plan.output)
    found = {row[0]: row[1:] for row in duckdb.sql(query).fetchall()}
    assert set(found) == {"honest", "tight"}
    inside = load_scans(plan.output).group_by("estimator").agg((pl.col("nees") < 6.251).mean())
    assert {name: share for name, (share, _) in found.items()} == pytest.approx(
        dict(inside.collect().iter_rows())
    )


def test_beliefs_of_all_kinds_have_the_same_columns(tmp_path):
    plan = quick(tmp_path, tracks=1, scans=50)
    tasks = tasks_of(plan)
    stamp, position, rotation = circuit(50)
    write(Track(stamp, position + 0.01, rotation, about=ABOUT), tmp_path / "bare.square")
    tasks[0] = replace(tasks[0], estimate=Input(str(tmp_path / "bare.square")))
    ran = run_tasks(plan, tasks, workers=1)
    assert [each.failure for each in ran.results] == [None, None]
    frame = load_scans(plan.output).collect()
    counts = frame.group_by("estimator").agg(pl.col("nees", "ape", "covariance_zx").count())
    assert {row[0]: row[1:] for row in counts.iter_rows()} == {
        "honest": (0, 50, 0),
        "tight": (50, 50, 50),
    }


def test_scans_of_tasks_that_are_gone_are_removed_and_other_files_stay(tmp_path):
    plan = quick(tmp_path, tracks=2, scans=30)
    run_tasks(plan, tasks_of(plan), workers=1)
    mine = plan.output / "scans" / "group=lab" / "estimator=tight" / "track=01" / "mine.parquet"
    mine.touch()
    ran = run_tasks(plan, tasks_of(plan)[:2], workers=1)
    assert ran.removed == 2
    assert mine.exists()
    mine.unlink()
    assert load_scans(plan.output).collect().height == 60


def test_scans_of_a_task_that_fails_now_are_removed(tmp_path):
    plan = quick(tmp_path, tracks=1, scans=30)
    run_tasks(plan, tasks_of(plan), workers=1)
    Path(tasks_of(plan)[0].estimate.source).write_text("")
    ran = run_tasks(plan, tasks_of(plan), workers=1)
    assert ran.removed == 1
    assert load_scans(plan.output).collect()["estimator"].unique().to_list() == ["tight"]


def test_scans_are_on_the_disk_once(tmp_path):
    plan = quick(tmp_path, tracks=1, scans=30)
    (result, _) = run_tasks(plan, tasks_of(plan), workers=1).results
    made = plan.output / "cache" / result.key[:2] / f"{result.key}.parquet"
    assert scans_path(plan.output, result).samefile(made)


def test_without_second_names_scans_are_copied(tmp_path, monkeypatch):
    def no_links(src, dst):
        raise OSError("not supported")

    monkeypatch.setattr(os, "link", no_links)
    plan = quick(tmp_path, tracks=1, scans=30)
    run_tasks(plan, tasks_of(plan), workers=1)
    run_tasks(plan, tasks_of(plan), workers=1)
    assert load_scans(plan.output).collect().height == 60
    assert not list((plan.output / "cache").glob(".smfeval*"))


def test_scans_that_a_worker_wrote_elsewhere_are_missed(tmp_path):
    with pytest.raises(OptionError, match="a worker wrote it, but it is not seen here"):
        link_scans(tmp_path / "gone.parquet", tmp_path / "here.parquet", aside=tmp_path)


def test_nothing_is_removed_where_nothing_is(tmp_path):
    assert remove_other_scans(tmp_path, []) == 0


def test_a_study_in_a_folder_named_like_a_pattern_reads_its_own_scans(tmp_path):
    for name, scans in (("run1", 40), ("run[1]", 30)):
        plan = quick(tmp_path / name, tracks=1, scans=scans)
        run_tasks(plan, tasks_of(plan), workers=1)
    assert load_scans(plan.output).collect().height == 60

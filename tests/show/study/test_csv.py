"""Every number of the tables, in full, as a data frame reads it."""

import csv
import json
from dataclasses import replace
from io import StringIO

import polars as pl

from smfeval.show.study.formats import CSV_COLUMNS as COLUMNS
from smfeval.show.study.formats import csv_text as text
from support import study_results
from support.study_results import BASE, LOST, ODD, PLAIN, study


def rows():
    return list(csv.DictReader(StringIO(text(study()))))


def only(**wanted):
    (row,) = [each for each in rows() if all(each[key] == value for key, value in wanted.items())]
    return row


def test_there_is_one_row_for_each_cell_of_each_table_and_its_numbers_are_exact():
    found = iter(rows())
    for kind, sections in (("estimators", study().sections), ("pairs", study().pair_sections)):
        for section in sections:
            for column in section.columns:
                for cell in column.cells:
                    row = next(found)
                    assert (row["table"], row["group"]) == (kind, section.group)
                    assert row["converged_only"] == str(section.converged_only).lower()
                    assert (row["metric"], row["estimator"]) == (column.metric, cell.estimator)
                    numbers = [row[key] and float(row[key]) for key in ("value", "low", "high")]
                    median = cell.median
                    expected = [median.value, median.low, median.high] if median else [None] * 3
                    assert [each if each != "" else None for each in numbers] == expected
                    assert int(row["tracks"]) == len(cell.values)
    assert next(found, None) is None


def test_a_row_tells_the_test_against_the_best_and_what_the_median_is_of():
    row = only(converged_only="false", metric="mae", estimator=ODD)
    assert (row["role"], row["unit"], row["best"]) == ("contender", "m", "true")
    assert (row["against"], row["shared"], row["p_holm"]) == (PLAIN, "3", "0.25")
    assert (row["beaten"], row["further_tracks"], row["mean_rank"]) == ("false", "14", "2.0")
    assert json.loads(row["by_track"]) == {"keble_01": 0.0401, "keble_02": 0.0623, "a|b": 0.117}


def test_what_is_missing_is_empty_and_keeps_its_unit_and_name():
    row = only(converged_only="false", metric="mae", estimator=LOST)
    assert (row["value"], row["low"], row["p"], row["tracks"]) == ("", "", "", "0")
    assert row["unit"] == "m"


def test_a_baseline_and_an_infinite_number_are_told_as_such():
    row = only(converged_only="false", metric="k", estimator=BASE)
    assert (row["role"], row["value"], row["reason"]) == ("baseline", "inf", "an end is not finite")
    assert json.loads(row["by_track"]) == {"keble_01": None, "keble_02": None}


def test_polars_reads_numbers_as_numbers_and_flags_as_flags():
    frame = pl.read_csv(StringIO(text(study())))
    assert tuple(frame.columns) == COLUMNS
    assert frame["value"].dtype == pl.Float64
    assert frame["best"].dtype == frame["converged_only"].dtype == pl.Boolean
    assert frame["tracks"].dtype == pl.Int64


def test_no_cell_is_a_formula():
    odd = "=cmd|' /C calc'!A0"
    made = replace(study(), sections=(replace(study_results.section(), group=odd),))
    rows = list(csv.DictReader(StringIO(text(made))))
    assert {row["group"] for row in rows if row["table"] == "estimators"} == {f"'{odd}"}
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@"))]

"""Sentences below the tables."""

from dataclasses import replace

from smfeval.compare.duels import Duel, Ranks
from smfeval.compare.pooled import PooledK
from smfeval.show.study.layout import grids
from smfeval.show.study.remarks import (
    answer_text,
    answers,
    failures,
    missing_files,
    power_lines,
    rank_line,
    section_remarks,
    shared_notes,
    study_remarks,
    study_title,
)
from smfeval.show.study.terminal import text
from support.study_results import BASE, LOST, ODD, PLAIN, TRACKS, k, mae, section, study, task


def told(remarks, label):
    return [each.text for each in remarks if each.label == label]


def test_ranks_are_told_best_first_with_who_is_not_separated():
    ranks = Ranks(("C", "A", "B"), (3.5, 1.4, 2.1), 12, (("A", "B"), ("B", "C", "D")))
    assert rank_line(ranks) == (
        "A 1.4, B 2.1, C 3.5 over 12 tracks; not separated: A and B; B, C and D"
    )


def test_ranks_without_a_test_say_why():
    assert rank_line(Ranks((), (), 0, reason="no track is shared")) == "no track is shared"


def duel(best, other, further, beaten=False):
    return Duel(best, other, 9, 0, 0.1, 0.2, 0.2, beaten, further)


def test_further_tracks_are_told_once_for_a_pair_and_only_of_close_ones():
    first = replace(mae(), duels=(duel("A", "B", 14), duel("A", "C", 3, beaten=True)))
    second = replace(k(), duels=(duel("B", "A", 20), duel("B", "C", None)))
    third = replace(mae(), metric="rmse", duels=(duel("A", "B", 14),))
    assert power_lines((first, second, third)) == (
        "A and B: about 14 further tracks would separate them in MAE and RMSE; 20 in k",
    )


def test_one_further_track_is_singular():
    (line,) = power_lines((replace(mae(), duels=(duel("A", "B", 1),)),))
    assert "about 1 further track would" in line


def test_a_note_that_names_its_metric_is_not_named_twice():
    columns = (replace(mae(), notes=("MAE: as it is", "of both")), replace(k(), notes=("of both",)))
    notes = told(section_remarks(replace(section(), columns=columns, notes=())), "note")
    assert notes == ["MAE: as it is", "MAE, k: of both"]


def test_notes_that_all_tables_have_are_said_once_for_the_study():
    sections = study().sections
    assert shared_notes(sections) == (
        "said of every table",
        "MAE: a note on MAE",
        "90 % coverage: a note on coverage",
    )
    assert shared_notes(sections[:1]) == shared_notes(()) == ()
    assert told(study_remarks(study()), "note") == [*shared_notes(sections), "a note on the study"]
    left = told(section_remarks(sections[0], without=shared_notes(sections)), "note")
    assert left == ["only of all"]


def test_every_failure_is_one_line_with_its_sentence():
    lines = told(failures(study()), "failed")
    assert lines[0] == f"{BASE}, oxford/a|b: no <file>"
    assert lines[-1] == f"{PLAIN} | never\\x1b[31m runs\\n, oxford/a|b: no file"
    assert len(lines) == 5
    assert not any("\n" in line or "\x1b" in line for line in lines)


def test_missing_files_are_no_failures_and_take_one_line_for_an_estimator():
    lost = [task(LOST, track, failure="no file") for track in "abcdefgh"]
    found = (task(BASE, "a", failure="no file"), *lost, task(BASE, "b", failure="broken"))
    whole = replace(study(), results=found, pair_results=())
    assert told(failures(whole), "failed") == [f"{BASE}, oxford/b: broken"]
    assert told(missing_files(whole), "no file") == [
        f"{BASE}, on 1 of 3 tracks: a",
        "never\\x1b[31m runs\\n, on 8 of 3 tracks: a, b, c, d, e, f and 2 more",
    ]
    assert study_remarks(whole)[-2:] == missing_files(whole)
    title = "nightly: 4 estimators, 3 tracks, 1 run, 1 failed, 9 without a file"
    assert study_title(whole) == title


def test_doubts_take_one_line_for_an_estimator_and_a_kind():
    doubted = [
        replace(task(PLAIN, track), notes=("a note",), doubts=(("jumps", f"jumps by {size} m"),))
        for track, size in (("t0", 3), ("t1", "1.5e+06"))
    ]
    whole = replace(study(), results=(*doubted, task(LOST, "t0")))
    total = len(whole.plan.tracks)
    line = f"{PLAIN} (2 of {total} tracks: t0 and t1): jumps by 3 m"
    assert told(study_remarks(whole), "doubt") == [line]
    assert line in " ".join(text(whole, brief=True).split())


def test_ten_failures_are_listed_and_the_rest_is_counted():
    many = tuple(task(LOST, "keble_01", failure="broken", repeat=at) for at in range(1234))
    lines = told(failures(replace(study(), results=many, pair_results=())), "failed")
    assert len(lines) == 11
    assert lines[1].endswith("oxford/keble_01, run 2: broken")
    assert lines[-1] == "and 1,224 more"


def pooled(estimator, label):
    return PooledK(estimator, label, "", None, None, None, 3, 3, 0)


def answered(*labels, **changes):
    """Answers of a study whose estimators have these labels; `changes` of the first column."""
    names = (PLAIN, ODD, BASE)
    judged = tuple(pooled(*each) for each in zip(names, labels, strict=False))
    table = replace(section(), pooled=judged, columns=(replace(mae(), **changes), k()))
    return answers(replace(study(), sections=(table,)))


def test_the_first_answer_is_who_can_be_trusted():
    first, _ = answered("overconfident", "overconfident")
    assert first == f"none of the 2 can be trusted as it is. Least wrong: {ODD}, median k 1.31"
    first, _ = answered("overconfident", "consistent", "overconfident")
    assert first == f"overconfident: {PLAIN} and {BASE}; consistent: {ODD}"
    assert answered("cannot tell")[0] == f"cannot tell: {PLAIN}"
    assert answers(replace(study(), sections=())) == ()
    assert answer_text(replace(study(), sections=())) == ""


def test_the_second_answer_is_who_is_best_or_why_nobody_is():
    assert answered() == (f"best by MAE: {PLAIN} (median 4.12 cm), not separated from {ODD}",)
    alone = tuple(replace(each, best=each.estimator == PLAIN) for each in mae().cells)
    assert answered(cells=alone) == (f"best by MAE: {PLAIN} (median 4.12 cm)",)
    assert answered(unmarked="too few", detail="3 of 6") == ("too few",)


def test_why_nobody_is_marked_is_a_footnote_of_its_columns():
    few = replace(mae(), unmarked="too few tracks", detail="3; 6 are needed")
    (grid,) = grids(
        replace(study(), sections=(replace(section(), columns=(few, k())),), pair_sections=())
    )
    (letter,) = grid.columns[0].marks
    assert dict(grid.footnotes)[letter] == "too few tracks: 3; 6 are needed"
    assert grid.columns[1].marks == ()


def test_verdicts_are_counted_and_lost_tracks_are_a_footnote_of_their_row():
    labels = ("overconfident", "overconfident", "cannot tell")
    runs = [
        replace(task(PLAIN, t), verdict=v, gauge="se3") for t, v in zip(TRACKS, labels, strict=True)
    ]
    made = replace(study(), results=(*runs, replace(task(BASE, TRACKS[0]), gauge="yaw")))
    grid = grids(made)[0]
    assert grid.rows[0].verdicts == "2 overconfident, 1 cannot tell"
    footnotes = dict(grid.footnotes)
    assert [footnotes[mark] for mark in grid.rows[0].marks] == ["after SE(3) alignment"]
    assert [footnotes[mark] for mark in grid.rows[3].marks][:2] == [
        "lost on 1 of 2 tracks: keble_02 (mean error above 5 m)",
        "after yaw alignment",
    ]

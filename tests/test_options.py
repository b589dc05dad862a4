"""An option is declared once; flags, keys of plans and the checks of `Options` are made from it."""

from unittest.mock import patch

import pytest

from smfeval.cli.flags import Parser, given, option_flags, verb_flags
from smfeval.dataclass import dataclass
from smfeval.errors import OptionError
from smfeval.evaluation import Options
from smfeval.io.options import ReadOptions
from smfeval.schema import (
    TEXT,
    WHOLE,
    option,
    options_at,
    options_of,
    parse_table,
    with_values,
)
from smfeval.studies.plan_file import parse_options
from smfeval.summarise.number import Intervals


def refuse_odd(count: int) -> None:
    if count % 2:
        raise OptionError(f"least_scans {count} is odd")


@dataclass(frozen=True)
class MoreOptions(Options):
    """The options, and two more."""

    least_scans: int = option(
        10, WHOLE, "fewer are not scored", at=("score", "study"), metavar="N", check=refuse_odd
    )
    weight: str | None = option(
        None,
        TEXT,
        "of a scan",
        at=("score", "study", "sweep"),
        choices=("time", "distance"),
    )


def flags() -> Parser:
    rows = option_flags(options_at(MoreOptions, "score"))
    return verb_flags("for a test", (), *rows).parser("score")


def from_flags(*words: str) -> MoreOptions:
    options = options_at(MoreOptions, "score")
    values = parse_table(given(flags().parse_args(words), options), options)
    return with_values(MoreOptions(), values)


def from_plan(verb: str = "study", **table: object) -> MoreOptions:
    with patch("smfeval.studies.plan_file.Options", MoreOptions):
        return parse_options(table, "p.toml: [options]", verb)[0]


def test_an_option_that_is_declared_is_a_flag():
    assert from_flags() == MoreOptions()
    assert from_flags("--least-scans", "4", "--axes", "xy") == MoreOptions(least_scans=4, axes="xy")
    with pytest.raises(OptionError, match="argument --least-scans: invalid int value: 'few'"):
        from_flags("--least-scans", "few")
    with pytest.raises(OptionError, match="argument --weight: invalid choice: 'mass'"):
        from_flags("--weight", "mass")


def test_the_help_of_a_flag_is_that_of_the_option():
    assert "--least-scans N" in flags().format_help()
    assert "fewer are not scored" in flags().format_help()


def test_an_option_that_is_declared_is_a_key_of_plans():
    assert from_plan(least_scans=4, seed=3) == MoreOptions(
        least_scans=4, intervals=Intervals(seed=3)
    )
    assert from_plan("sweep", weight="time") == MoreOptions(weight="time")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"leastscans": 4}, "the key 'leastscans' is unknown; 'least_scans' may be meant"),
        ({"least_scans": 4.5}, "least_scans is to be a whole number, not 4.5"),
        ({"least_scans": 3}, "least_scans 3 is odd"),
        ({"weight": "tim"}, "weight 'tim' is unknown; 'time' may be meant"),
    ],
)
def test_a_wrong_key_type_or_value_of_a_new_option_is_refused(table, sentence):
    with pytest.raises(OptionError) as caught:
        from_plan(**table)
    assert str(caught.value) == f"p.toml: [options]: {sentence}"


def test_an_option_means_nothing_where_it_does_not_apply():
    with pytest.raises(OptionError, match="least_scans means nothing in a sweep"):
        from_plan("sweep", least_scans=4)


def test_an_option_that_is_declared_is_checked_in_python():
    with pytest.raises(OptionError, match="least_scans 3 is odd"):
        MoreOptions(least_scans=3)
    with pytest.raises(OptionError, match="weight 'tim' is unknown; 'time' may be meant"):
        MoreOptions(weight="tim")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            {"association": "closest"},
            "association 'closest' is unknown; it is one of interpolated, nearest, gp",
        ),
        ({"alignment": "gravity_yaw"}, "alignment 'gravity_yaw' is unknown; it is one of none"),
        ({"tolerance_s": float("nan")}, "tolerance nan is no time that could be meant"),
        ({"offset_s": "soon"}, "offset 'soon' is neither a time in seconds nor auto"),
        ({"intervals": Intervals("autos")}, "method 'autos' is unknown; 'auto' may be meant"),
    ],
)
def test_python_is_told_what_is_wrong_as_plans_are(wrong, sentence):
    with pytest.raises(OptionError) as caught:
        Options(**wrong)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("made", [Options, ReadOptions])
def test_the_defaults_are_accepted_and_every_option_applies_somewhere(made):
    assert made() == with_values(made(), {})
    assert all(each.at and each.path for each in options_of(made))


@pytest.mark.parametrize("place", ["score", "pair", "study", "sweep"])
def test_no_two_options_of_a_place_have_one_name(place):
    reading = options_at(ReadOptions, "options" if place in ("study", "sweep") else "read")
    names = [each.flag or each.name for each in (*options_at(Options, place), *reading)]
    assert len(set(names)) == len(names)

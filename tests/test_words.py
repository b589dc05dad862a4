from math import inf, nan

import pytest

from smfeval import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.01212, "0.0121"),
        (1.25e-9, "1.25e-09"),
        (82.05, "82"),
        (999.4, "999"),
        (999.5, "1,000"),
        (250597.4, "250,597"),
        (999_999.0, "999,999"),
        (1e6, "1e+06"),
        (1.02e6, "1.02e+06"),
        (-12345.0, "-12,345"),
        (nan, "nan"),
        (inf, "inf"),
        (-inf, "-inf"),
    ],
)
def test_numbers_have_three_digits_and_no_needless_exponent(value, text):
    assert words.number(value) == text


def test_signs_are_written_where_asked_and_never_before_zero_alone():
    signed = [words.number(value, signed=True) for value in (2.757, -0.5, 1500.0, -0.0)]
    assert signed == ["+2.76", "-0.5", "+1,500", "+0"]
    assert words.fixed(-0.0001, 2) == "0.00"
    assert words.exact(5.0, signed=True) == "+5"


def test_chosen_numbers_are_not_rounded():
    assert [words.exact(value) for value in (0.005, 1234.5, 20.0)] == ["0.005", "1234.5", "20"]
    assert [words.level(part) for part in (0.9, 0.9973, 0.57)] == ["90 %", "99.73 %", "57 %"]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0.0, "0 m"),
        (-0.0, "0 m"),
        (0.0121, "1.21 cm"),
        (-0.0121, "-1.21 cm"),
        (0.00077, "770 um"),
        (0.0011, "1.1 mm"),
        (31.5, "31.5 m"),
        (999.4, "999 m"),
        (999.5, "1 km"),
        (7510.0, "7.51 km"),
        (2.5e6, "2,500 km"),
        (0.99999, "1 m"),
        (1e-12, "0.001 nm"),
        (nan, "nan m"),
        (inf, "inf m"),
    ],
)
def test_lengths_find_their_unit(size, text):
    assert words.length(size) == text


def test_several_lengths_share_the_unit_of_the_largest():
    assert words.lengths(0.032, -0.001, 0.004) == "3.2, -0.1, 0.4 cm"
    assert words.lengths(-2.0, 0.01) == "-2, 0.01 m"
    assert words.lengths(0.0, 0.0) == "0, 0 m"


def test_ranges_share_a_unit():
    assert words.length_range(0.0007, 0.00106) == "0.7-1.06 mm"
    assert words.length_range(0.0271, 0.0271) == "2.71 cm"
    assert words.length_range(0.0, 0.0) == "0 m"
    assert words.length_range(-0.02, 0.01) == "-2 to 1 cm"
    assert words.duration_range(120.2, 160.0) == "120-160 s"
    assert words.number_range((3.4, 1.2, 2.0)) == "1.2 to 3.4"
    assert words.number_range((0.1581, 0.1584), places=3) == "0.158"
    assert words.number_range((0.1581, 0.1584), places=4) == "0.1581 to 0.1584"
    assert [words.count_range(5, 5), words.count_range(10, 1000)] == ["5", "10-1,000"]


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0.0, "0 ms"),
        (-0.0, "0 ms"),
        (0.0035, "3.5 ms"),
        (-0.02, "-20 ms"),
        (0.99999, "1 s"),
        (3600.0, "3,600 s"),
        (2e-7, "0.0002 ms"),
    ],
)
def test_times_are_seconds_or_milliseconds(time_s, text):
    assert words.duration(time_s) == text


def test_times_show_their_sign_where_asked():
    assert words.duration(0.0035, signed=True) == "+3.5 ms"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "0 %"),
        (2e-29, "0 %"),
        (1e-6, "0.0001 %"),
        (0.00012, "0.012 %"),
        (0.0344, "3.4 %"),
        (0.1234, "12 %"),
        (0.994, "99 %"),
        (0.996, "99.6 %"),
        (0.9997, "99.97 %"),
        (1 - 1e-12, "100 %"),
        (1.0, "100 %"),
        (2.5, "250 %"),
        (-0.126, "-13 %"),
        (nan, "nan %"),
    ],
)
def test_shares_have_two_digits_and_only_all_is_a_hundred_percent(part, text):
    assert words.share(part) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((0.0121, "m"), "1.21 cm"),
        ((0.0121, "m", 0.009, 0.016), "1.21 cm [0.9, 1.6]"),
        ((0.0, "m"), "0 m"),
        ((0.893, "%", 0.851, 0.922), "89.3 % [85.1, 92.2]"),
        ((4.951, "1", 3.0, 1234.0), "4.95 [3, 1,234]"),
        ((-0.5, "nat"), "-0.5 nat"),
        ((2.0, "m^1.5", 1.0, None), "2 m^1.5"),
    ],
)
def test_a_quantity_has_its_unit_and_its_interval(arguments, text):
    assert words.quantity(*arguments) == text


def test_slopes_have_three_decimals_and_a_sign():
    assert words.slope(0.1581) == "+0.158"
    assert words.slope(0.1581, -0.01, 0.2) == "+0.158 [-0.010, +0.200]"


def test_angles_and_factors():
    assert words.angle(0.5) == "0.5 deg"
    assert words.factor(4.951) == "4.95 times"


def test_counts_have_their_plural():
    assert [words.count(n, "scan") for n in (1, 2, 1000)] == ["1 scan", "2 scans", "1,000 scans"]
    assert words.count(2, "belief of a body", "beliefs of a body") == "2 beliefs of a body"
    assert words.count(12345) == "12,345"
    assert words.count_of(30, 1000, "scan") == "30 of 1,000 scans"


def test_names_are_joined_as_in_a_sentence():
    assert [words.join("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert words.join("abcd", most=4) == "a, b, c and d"
    assert words.join("abcd", most=2) == "a, b and 2 more"


def test_files_lose_folder_and_ending():
    assert words.names(["runs/a.txt.gz", "b_Rx0.1.square"]) == ["a", "b_Rx0.1"]
    assert words.names(["drive.bag:/odom"]) == ["odom"]
    assert words.names(["a/log.ulg:0", "a/log.ulg:1"]) == ["log.ulg:0", "log.ulg:1"]
    assert words.names([".square"]) == [".square"]


def test_files_of_one_name_keep_the_folders_that_tell_them_apart():
    assert words.names(["one/a.square", "two/a.square"]) == ["one/a.square", "two/a.square"]
    assert words.names(["/data/x/one/a.square", "/data/x/two/a.square", "/data/b.tum"]) == [
        "one/a.square",
        "two/a.square",
        "b",
    ]
    assert words.names(["runs/a.square", "runs/a.txt"]) == ["a.square", "a.txt"]
    assert words.names(["runs/a.txt", "runs/old/a.txt"]) == ["a.txt", "old/a.txt"]


def test_a_repeated_label_is_shown_once():
    text = words.columns([("a", "1"), ("note", "x"), ("note", "y")])
    assert text == "  a     1\n  note  x\n        y"


def test_cells_stand_under_each_other():
    rows = [["", "k"], ["fast", "12"], ["a", "1"]]
    assert words.table(rows) == ["      k", "fast  12", "a     1"]
    assert words.table(rows, right=True) == ["       k", "fast  12", "a      1"]


def test_an_alignment_has_the_name_of_its_group():
    phrases = [words.aligned(kind) for kind in ("se3", "sim3", "yaw", "none")]
    assert phrases == [
        "after SE(3) alignment",
        "after Sim(3) alignment",
        "after yaw alignment",
        "without alignment",
    ]

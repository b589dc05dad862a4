from importlib import import_module

import pytest

from smfeval.errors import FormatError, OptionError
from smfeval.io import read, split_source, write
from smfeval.io.formats import FORMATS, format_for_writing, recognised
from support.beliefs import gaussian


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_its_module(name):
    module = import_module(FORMATS[name].module)
    assert callable(module.read)
    assert callable(module.write) if FORMATS[name].writable else not hasattr(module, "write")


def test_a_source_may_name_a_topic(tmp_path):
    assert split_source("a/b.mcap:/odom/x") == (tmp_path.__class__("a/b.mcap"), "/odom/x")
    assert split_source("a/b.square")[1] is None
    odd = tmp_path / "a:" / "b"
    odd.parent.mkdir()
    odd.write_text("")
    assert split_source(odd) == (odd, None)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "the file is empty"),
        (b"\x00\x01\x02\x03" * 50, "binary data"),
        (b"1 2 3 4 5\n", r"not recognised \(first row: 5 columns\)"),
        (b"hello world\n", "not recognised"),
    ],
)
def test_files_of_no_format_are_refused(content, word, tmp_path):
    (tmp_path / "junk").write_bytes(content)
    with pytest.raises(FormatError, match=word):
        recognised(tmp_path / "junk")


def test_folders_and_missing_files_are_refused(tmp_path):
    with pytest.raises(FormatError, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(FormatError, match="there is no such file"):
        read(tmp_path / "missing.square")


def test_formats_to_write_are_chosen_by_ending_or_name(tmp_path):
    assert format_for_writing(tmp_path / "a.square.gz").name == "square"
    assert format_for_writing(tmp_path / "a.odd", "tum").name == "tum"
    with pytest.raises(OptionError, match="the ending names no format"):
        format_for_writing(tmp_path / "a.odd")
    with pytest.raises(OptionError, match="read, not written"):
        format_for_writing(tmp_path / "a.bag", "bag")


def test_a_failed_write_leaves_nothing(tmp_path, rng):
    with pytest.raises(OptionError, match="cannot be written"):
        write(gaussian(3, rng), tmp_path / "nowhere" / "a.square")
    assert list(tmp_path.iterdir()) == []

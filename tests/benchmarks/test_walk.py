"""What the walk counts, on a package of four files."""

import runpy

import pytest
from walk import Walk, code_lines, single_importers, traced

FILES = {
    "__init__.py": '"""Doc."""\n\nHOMES = {"read": "made.io"}\n',
    "io.py": "from made.words import number\n\n\ndef read():\n    return number()\n",
    "words.py": '# a comment\n\ndef number():\n    """Two."""\n    return 2  # two\n',
    "show/text.py": "def show():\n    from made.words import number\n    number(), number()\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "made"


def test_blanks_comments_and_docstrings_are_no_code(package):
    assert code_lines(package / "words.py") == 2
    assert code_lines(package / "__init__.py") == 1


def test_a_module_that_one_other_imports_is_named_however_it_is_imported(package):
    assert single_importers(package) == ["made.io"]


def test_calls_are_counted_by_file_function_and_passage(package, monkeypatch):
    monkeypatch.syspath_prepend(package.parent)
    show = runpy.run_path(str(package / "show" / "text.py"))["show"]
    show()  # all is imported
    walk = Walk((package,))
    with traced(walk):
        show()
    assert {name for _, name in walk.functions} == {"show", "number"}
    assert list(walk.passages.values()) == [2]
    assert (len(walk.files), walk.between_rooms) == (2, 1)

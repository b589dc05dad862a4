"""Data, then words: nobody takes a sentence apart that we have written."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "src" / "smfeval", ROOT / "lab" / "src")
FOREIGN = ("io",)  # folders that read what others have written
APART = {"partition", "rpartition", "removeprefix", "removesuffix", "startswith", "endswith"}
APART |= {"replace", "split", "index", "find"}
SENTENCES = {
    "advice", "convention", "doubt", "failure", "headline", "lost", "note", "reason", "remark",
    "said", "sentence", "str", "title", "told", "warning",
}  # fmt: skip
ALLOWED = {  # options of users, and the file that a message begins with
    "align/quantities.py",
    "maths/stamps.py",
    "options.py",
    "studies/datasets.py",
    "studies/layout.py",
}
UNDONE = {  # sentences that are still taken apart; the list must not grow
    "show/study/remarks.py: sentence.startswith(f'{titles[0]}:')",
}


def last_name(node):
    """'note' of `note`, `track.note` and `(note or "")`; 'str' of `str(error)`."""
    if isinstance(node, ast.Call):
        return last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.BoolOp):
        return last_name(node.values[0])
    return node.id if isinstance(node, ast.Name) else ""


def takes_apart(node):
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in APART and last_name(node.func.value) in SENTENCES
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        written = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        written = written or (isinstance(node.left, ast.Name) and node.left.id.isupper())
        return written and last_name(node.comparators[0]) in SENTENCES
    return False


def sentences_taken_apart():
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            place = path.relative_to(source)
            if place.parts[0] in FOREIGN or place.as_posix() in ALLOWED:
                continue
            nodes = ast.walk(ast.parse(path.read_text()))
            yield from (f"{place}: {ast.unparse(node)}" for node in nodes if takes_apart(node))


def test_a_sentence_that_is_taken_apart_is_seen():
    for code in (
        "note.partition(': ')", "'left out' in each.note", "str(error).split()",
        "'(assumed)' in (track.convention or '')", "NO_BLOCK not in reason",
    ):  # fmt: skip
        assert takes_apart(ast.parse(code, mode="eval").body)


def test_no_sentence_is_taken_apart():
    assert {*sentences_taken_apart()} <= UNDONE

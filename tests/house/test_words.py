"""What a user reads is in the words of the field, which the glossary has."""

import ast
import inspect
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import smfeval
from smfeval.cli.verb_flags import FLAGS
from support.commands import run
from support.study_folders import HERE, entered

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "src" / "smfeval", ROOT / "lab" / "src" / "smfeval_lab")
GONE = {  # a word, as a pattern: what to say
    r"convict\w*": "shows overconfidence",
    r"acquit\w*": "shows consistency",
    r"\balibi\w*": "other explanation",
    r"\bboast\w*": "is overconfident",
    r"\bliars?\b|\blies\b(?! (?:in|with|out|below|above|between|off|at|beside|turned|\d))": "is",
    r"\b(?:guilt|guilty|blam(?:e|es|ed)|excus\w+|innocen\w+)\b": "is explained by",
    r"\bdishonest\w*": "overconfident",
    r"\bunearned\b": "more confident, not more accurate",
    r"\bkindest\b|\bkindly\b|\bkind to\b": "best-case fit",
    r"\bwander\w*": "slow error, drift, autocorrelated over the whole track",
    r"\bremember(?:s|ed)? each other\b": "are correlated",
    r"\bopposed in\b": "the symmetric cross-covariance is positive semidefinite",
    r"\bany correlation allows\b": "whatever the correlations",
    r"(?<!degrees of )(?<!degree of )\bfreedoms?\b": "degrees of freedom of the alignment",
    r"\bmoved over\b": "interpolated",
    r"\bclock offsets?\b": "time offset",
}
IN_SENTENCES = {  # of the program; one word alone may be a key, and docs may use them once
    r"\bclaim\w*": "report",
    r"\b(?:told|heard|met|said)\b": "given, named, shown",
    r"\bhonest(?:y|ly)?\b(?!\.square)": "consistent",
    r"(?<![-`'\"{.])\bgauges?\b(?! =|[`'\"}]| (?:fixed|se3|gravity_yaw|sim3|not))": "alignment",
}
NAMES = ("shown", "flag")  # keywords whose text is a list of names
LONGEST = 120  # letters of a finding


def findings(text: str, where: str, words: dict[str, str] = GONE) -> list[str]:
    """'file:line: word (say ...): the text around it', for each word that is gone."""
    found = []
    for pattern, say in words.items():
        for match in re.finditer(pattern, text, re.IGNORECASE):
            line = text.count("\n", 0, match.start())
            around = " ".join(text[max(0, match.start() - 40) : match.end() + 40].split())
            place = f"{where}:{line + 1}" if "\n" in text else where
            found.append(f"{place}: {match[0]!r} (say: {say}): {around[:LONGEST]}")
    return found


def read_by_users(text: str, where: str) -> list[str]:
    """Findings of a text of the program: one word may be a key, more are a sentence."""
    return findings(text, where, GONE | IN_SENTENCES if " " in text.strip() else GONE)


def report(found: Iterable[str]) -> str:
    """All findings, one below the other."""
    return "\n".join(["words that are gone:", *found])


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """String literals of a module and their lines, without docstrings and comments."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unread = {  # docstrings, and lists of names of flags
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) or (isinstance(node, ast.keyword) and node.arg in NAMES)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value for part in node.values if isinstance(part, ast.Constant))
            yield node.lineno, " ... ".join(str(part) for part in parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in unread
        ):
            yield node.lineno, node.value


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("the judge convicts nobody", ["convicts"]),
        ("its errors wander", ["wander"]),
        ("an honest belief is told apart", ["told", "honest"]),
        ("one of the gauges", ["gauges"]),
        ("families underlie it, it lies within, metric, a moved chair, degrees of freedom", []),
        ('set gauge = "own" or --gauge none', []),
        ("gauge", []),
    ],
)
def test_a_word_that_is_gone_is_found_and_ordinary_english_is_not(text, gone):
    assert [found.split("'")[1] for found in read_by_users(text, "here")] == gone


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_no_string_of_the_program_has_a_word_that_is_gone(source):
    found: dict[str, None] = {}
    for path in sorted(source.rglob("*.py")):
        for line, text in literals(path):
            where = f"{path.relative_to(ROOT)}:{line}"
            found |= dict.fromkeys(read_by_users(" ".join(text.split()), where))
    assert not found, report(found)


def shown_by_template(text: str) -> str:
    """What a template shows: without comments, tags and expressions that are no text."""
    text = re.sub(r"\{#.*?#\}", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return re.sub(r"\{[%{].*?[%}]\}", lambda m: " ".join(re.findall(r'"[^"]*"', m[0])), text)


def test_no_template_shows_a_word_that_is_gone():
    found = []
    for source in SOURCES:
        for path in sorted(
            file for end in ("html", "tex", "toml") for file in source.rglob(f"*.{end}")
        ):
            text = shown_by_template(path.read_text(encoding="utf-8"))
            for at, line in enumerate(text.splitlines(), start=1):
                found += read_by_users(line, f"{path.relative_to(ROOT)}:{at}")
        for path in sorted(source.rglob("templates/**/*.js")):
            for at, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                for text in re.findall(r'"([^"\n]*)"|`([^`\n]*)`', line):
                    found += read_by_users("".join(text), f"{path.relative_to(ROOT)}:{at}")
    assert not found, report(found)


def test_no_json_document_has_a_word_that_is_gone():
    """Keys, values and descriptions of the schemas; `_` parts words of a key."""
    found = []
    for source in SOURCES:
        for path in sorted(source.rglob("schemas/*.json")):
            spaced = json.dumps(json.loads(path.read_text())).replace("_", " ")
            found += findings(spaced, str(path.relative_to(ROOT)))
            texts = re.findall(r'"description": "((?:[^"\\]|\\.)*)"', spaced)
            found += [each for text in texts for each in read_by_users(text, path.name)]
    assert not found, report(found)


def pages() -> list[Path]:
    """README, what a contributor reads, and the docs without research notes."""
    docs = ROOT / "docs"
    research = docs / "research"
    notes = [path for path in sorted(docs.rglob("*.md")) if research not in path.parents]
    return [ROOT / "README.md", *notes]


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_of_the_docs_has_a_word_that_is_gone(page):
    found = findings(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))
    assert not found, report(found)


def test_no_golden_output_has_a_word_that_is_gone():
    for path in sorted((ROOT / "tests" / "golden").glob("*.txt")):
        for at, line in enumerate(path.read_text().splitlines(), start=1):
            assert read_by_users(line, f"{path.name}:{at}") == []


def test_no_docstring_of_a_public_name_has_a_word_that_is_gone():
    found = []
    for name in smfeval.__all__:
        public = getattr(smfeval, name)
        members = vars(public) if inspect.isclass(public) else {}
        each = {name: public} | {
            f"{name}.{key}": value for key, value in members.items() if not key.startswith("_")
        }
        for where, thing in each.items():
            if inspect.isclass(thing) or inspect.isroutine(thing) or isinstance(thing, property):
                found += findings(inspect.getdoc(thing) or "", where)
    assert not found, report(found)


COMMANDS = (
    ("score", "bold/one.square", "--ref", "truth/one.tum"),
    ("score", "bold/one.square", "--ref", "truth/one.tum", "-v"),
    ("score", "bold/one.square", "--ref", "truth/one.tum", "--why"),
    ("score", "bold/one.square", "--ref", "truth/one.tum", "--why", "-v"),
    ("score", "bold/one.square", "--ref", "truth/one.tum", "--why", "--json"),
    ("score", "bold/one.square", "good/one.square", "--ref", "truth/one.tum", "-v"),
    ("pair", "good/one.square", "bold/one.square"),
    ("pair", "good/one.square", "bold/one.square", "--ref", "truth/one.tum", "-v"),
    ("check", "bold/one.square"),
    ("check", "bold/one.square", "-v"),
    ("study", "study.toml", *HERE),
    ("study", "study.toml", *HERE, "-v"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_prints_a_word_that_is_gone(words, tmp_path, monkeypatch, capsys):
    entered(tmp_path, monkeypatch)
    outcome = run(capsys, *words)
    assert outcome.code == 0, outcome.err
    lines = (outcome.out + outcome.err).splitlines()
    found = [each for line in lines for each in read_by_users(line, words[0])]
    assert not found, report(found)


@pytest.mark.parametrize("verb", FLAGS)
def test_no_help_has_a_word_that_is_gone(verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = FLAGS[verb]().parser(verb).format_help(every=True)
    found = [each for line in text.splitlines() for each in read_by_users(line, verb)]
    assert not found, report(found)

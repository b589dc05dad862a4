"""Results as one table: a row for each estimate, pair or run, made from JSON documents.

`to_polars` and `smfeval table` use it, so that a result has the same table when it is made, and
when its document is read again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from math import nan
from typing import TYPE_CHECKING, Any

from smfeval import words
from smfeval.dataclass import dataclass
from smfeval.errors import FormatError, OptionError
from smfeval.io.documents import kind_of
from smfeval.schema import suggest_word
from smfeval.show.render import escape_markdown, render_latex
from smfeval.show.report import DASH, Cell, Table, number_cell
from smfeval.summarise.number import Number
from smfeval.summarise.numbers import NUMBERS, NumberRow, number_named

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

RESULT = "result"  # the column that names the file, where there are several
SHOWN = ("rmse", "energy", "log", "k", "coverage_90")
SHOWN_OF = {
    "pair": ("k_pair", "surely_above", "nees_median", "distance", "energy", "log"),
    "sweep": ("precision", "nees_median", "mae"),
    "explain": ("k", "posterior", "credit", "above_credit", "effective_points"),
    "calibrate": ("log_before", "log_after", "k_before", "k_after", "in_90_before", "in_90_after"),
}
FIT_NUMBERS = {"log": ("log_score", "nat"), "k": ("k", "1"), "in_90": ("coverage", "1")}
COVERAGES = {row.level: row.name for row in NUMBERS.values() if row.space == "position"}
SHARES = ("availability", "mi", "hmi")  # of scans, under an alert limit
NOT_NUMBERS = ("relative", "coverage", "coverage_from")  # beside numbers in a document


@dataclass(frozen=True)
class ResultRow:
    """One estimate, pair or run: words and counts about it, and its numbers by name."""

    about: dict[str, str | int | None]
    numbers: dict[str, Number] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultTable:
    """Rows of one or several results of one kind."""

    kind: str  # score (also those of studies), pair, sweep, calibrate or explain
    rows: tuple[ResultRow, ...]

    @property
    def words(self) -> list[str]:
        """Columns of words and counts: those that say something."""
        names = dict.fromkeys(name for row in self.rows for name in row.about)
        return [name for name in names if any(row.about.get(name) is not None for row in self.rows)]

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers."""
        return list(dict.fromkeys(name for row in self.rows for name in row.numbers))

    @property
    def shown(self) -> list[str]:
        """The numbers that fit on a screen."""
        return [name for name in SHOWN_OF.get(self.kind, SHOWN) if name in self.numbers]

    def sorted_by(self, name: str) -> "ResultTable":
        """The rows by a column, smallest first; those that lack it come last."""
        if name not in [*self.words, *self.numbers]:
            raise _unknown_column(name, self)

        def key(row: ResultRow) -> tuple[bool, Any]:
            number = row.numbers.get(name)
            value = row.about.get(name) if number is None else number.value
            lacks = value is None or value != value  # noqa: PLR0124  a NaN is not itself
            return lacks, None if lacks else value

        return ResultTable(self.kind, tuple(sorted(self.rows, key=key)))


def table_of(documents: Sequence[tuple[str, dict[str, Any]]]) -> ResultTable:
    """The table of documents, each with the name of its file; kinds that differ are refused."""
    several = len(documents) > 1
    names = words.without_common_folders([words.visible(name) for name, _ in documents])
    kinds: dict[str, str] = {}
    rows: list[ResultRow] = []
    for name, (path, document) in zip(names, documents, strict=True):
        kind = kind_of(document)
        kinds.setdefault("score" if kind == "study" else kind, path)  # whose rows are runs
        first = {RESULT: name} if several else {}
        rows += [ResultRow({**first, **row.about}, row.numbers) for row in _rows(path, document)]
    if len(kinds) > 1:
        (one, of_one), (other, of_other), *_ = kinds.items()
        apart = f"{of_one} is of {one} and {of_other} of {other}"
        raise FormatError(f"{apart}; a table has results of one kind")
    return ResultTable(next(iter(kinds)), tuple(rows))


def _rows(name: str, document: dict[str, Any]) -> list[ResultRow]:
    """The rows of a document, if it is as its schema says."""
    try:
        return list(ROWS[kind_of(document)](document))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        sentence = f"{name}: not as the schema {document['schema']} says ({what})"
        raise FormatError(sentence) from error


def _score_rows(document: dict[str, Any]) -> Iterable[ResultRow]:
    for found in document.get("results", [document]):
        calibration = found["calibration"] or {}
        coverage = _numbers(calibration.get("coverage", {}))
        spaces = [found[space]["numbers"] for space in ("rotation", "pose") if found[space]]
        limited = found.get("integrity") or {}
        shares = {name: limited[name] for name in SHARES if name in limited}
        numbers = _numbers(found["scores"], calibration, shares, *spaces) | {
            COVERAGES[float(level)]: number
            for level, number in coverage.items()
            if float(level) in COVERAGES
        }
        about = {
            "estimate": found["estimate"]["name"],
            "reference": found["reference"]["name"],
            "verdict": found["verdict"]["label"],
            "scans": found["association"]["estimate_scans"],
            "scored": found["association"]["scored"],
            "alignment": found["gauge"]["alignment"],
            "axes": found["axes"],
        }
        yield _row(about, numbers)


def _study_rows(document: dict[str, Any]) -> Iterable[ResultRow]:
    for task in document["tasks"]:
        about = {"estimate": task["estimator"]}
        about |= {name: task[name] for name in ("group", "track", "repeat", "verdict", "failure")}
        about |= {"scans": task["scans"], "scored": task["scored"], "alignment": task["gauge"]}
        yield _row(about, _numbers(task["numbers"]))


def _pair_rows(document: dict[str, Any]) -> Iterable[ResultRow]:
    for pair in document["pairs"]:
        about = {"a": pair["a"], "b": pair["b"], "verdict": pair["verdict"]["label"]}
        about |= {name: pair[name] for name in ("matched", "scored", "alignment")}
        about |= {"axes": document["axes"]}
        numbers = _numbers({name: pair[name] for name in SHOWN_OF["pair"] if name in pair})
        low = pair["verdict"]["low"]
        sure = {} if low is None else {"surely_above": Number(float(low), "1")}
        yield _row(about, numbers | sure)


def _sweep_rows(document: dict[str, Any]) -> Iterable[ResultRow]:
    for point in document["points"]:
        settings = ", ".join(f"{knob} {value}" for knob, value in point["settings"].items())
        about = {"estimate": point["estimator"], "track": point["track"], "settings": settings}
        numbers = {name: each for name, each in point.items() if isinstance(each, dict)}
        numbers.pop("settings")
        yield _row(about | {"scored": point["scored"]}, _numbers(numbers))


def _calibrate_rows(document: dict[str, Any]) -> Iterable[ResultRow]:
    """A row for each track that was held out, before the correction and after it."""
    for held in document["held_out"]:
        numbers = {
            f"{name}_{when}": {"value": held[when][key], "unit": unit, "low": None, "high": None}
            for name, (key, unit) in FIT_NUMBERS.items()
            for when in ("before", "after")
        }
        found = _numbers(numbers)
        better = found["log_after"].value < found["log_before"].value
        about = {"track": held["track"], "verdict": "better" if better else "not better"}
        yield _row(about | {"scored": held["scans"], "lost": held["lost"]}, found)


def _explain_rows(document: dict[str, Any]) -> Iterable[ResultRow]:
    """The belief that was explained, or the estimators of a study."""
    if "study" in document:
        for each in document["estimators"]:
            about = {"study": document["study"], "estimate": each["estimator"]}
            yield _row(about | {"runs": each["runs"]}, _numbers(each["numbers"]))
        return
    from smfeval.studies.updates import CREDIT_UNITS, DISPLACEMENT_UNITS, UPDATE_UNITS  # noqa: PLC0415  seldom asked for

    k, found = document["k"], document["explained"] or {"credit": {}, "degeneracy": {}}
    values = {name: found["credit"].get(name) for name in CREDIT_UNITS}
    values |= {f"r_squared_{name}": e["r_squared"] for name, e in found["degeneracy"].items()}
    values |= {name: (found.get("displacement") or {}).get(name) for name in DISPLACEMENT_UNITS}
    numbers = {
        name: Number(float(value), UPDATE_UNITS.get(name, "1"))
        for name, value in values.items()
        if value is not None
    }
    about = {"estimate": document["belief"], "verdict": document["verdict"]}
    yield _row(about, ({} if k is None else _numbers({"k": k})) | numbers)


ROWS: dict[str, Callable[[dict[str, Any]], Iterable[ResultRow]]] = {
    "score": _score_rows,
    "study": _study_rows,
    "pair": _pair_rows,
    "sweep": _sweep_rows,
    "calibrate": _calibrate_rows,
    "explain": _explain_rows,
}


def _row(about: dict[str, Any], numbers: dict[str, Number]) -> ResultRow:
    """A row whose words a terminal may show, whoever wrote the document."""
    shown = {}
    for name, value in about.items():
        if not isinstance(value, str | int | None):
            raise TypeError(f"{name} is to be a text or a count")
        shown[name] = words.visible(value) if isinstance(value, str) else value
    return ResultRow(shown, numbers)


def _numbers(*groups: dict[str, Any]) -> dict[str, Number]:
    return {
        name: _number(each)
        for group in groups
        for name, each in group.items()
        if each is not None and name not in NOT_NUMBERS
    }


def _number(found: dict[str, Any]) -> Number:
    """A number as `Number.to_dict` writes it."""
    ends = ("value", "low", "high")
    value, low, high = (None if found[key] is None else float(found[key]) for key in ends)
    return Number(nan if value is None else value, str(found["unit"]), low, high)


def frame(document: dict[str, Any]) -> "pl.DataFrame":
    """The table of one document for polars; `k_low` and `k_high` are the ends of k's interval."""
    return table_frame(table_of([("the result", document)]))


def table_frame(table: ResultTable) -> "pl.DataFrame":
    """A table for polars; what a row lacks is null."""
    import polars as pl  # noqa: PLC0415  slow to import

    return pl.DataFrame(_columns(table), strict=False)


def pandas_frame(document: dict[str, Any]) -> "pd.DataFrame":
    """The table of one document for pandas."""
    try:
        import pandas as pd  # noqa: PLC0415  an extra
    except ImportError as error:
        raise OptionError('pandas is not installed here: pip install ".[pandas]"') from error
    return pd.DataFrame(_columns(table_of([("the result", document)])))


def _columns(table: ResultTable) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        name: [row.about.get(name) for row in table.rows] for name in table.words
    }
    for name in table.numbers:
        found = [row.numbers.get(name) for row in table.rows]
        columns[name] = [None if each is None else each.value for each in found]
        for end in ("low", "high"):
            columns[f"{name}_{end}"] = [each and getattr(each, end) for each in found]
    return columns


def shown_table(
    table: ResultTable, names: Sequence[str] | None = None, *, verbose: bool = False
) -> Table:
    """What text and Markdown show: `names` chooses numbers, `verbose` adds intervals."""
    chosen = list(names) if names is not None else table.numbers if verbose else table.shown
    for name in chosen:
        if name not in table.numbers:
            raise _unknown_column(name, table)
    about = [name for name in table.words if verbose or _tells_apart(table, name)]
    rows = {name: number_named(name) for name in chosen}
    headings = (name if row is None else row.heading for name, row in rows.items())
    lines = []
    for each in table.rows:
        said = (_word_cell(each.about.get(name)) for name in about)
        values = (_number_cell(each.numbers.get(name), row, verbose) for name, row in rows.items())
        lines.append((*said, *values))
    return Table((*about, *headings), tuple(lines))


def _word_cell(value: str | int | None) -> Cell:
    if value is None:
        return DASH
    return Cell(value if isinstance(value, str) else words.count(value))


def _number_cell(number: Number | None, row: NumberRow | None, verbose: bool) -> Cell:
    if number is None:
        return DASH
    unit = "%" if row is not None and row.is_share else number.unit
    shown = number if verbose else Number(number.value, number.unit)
    return number_cell(shown, "1" if unit == "nat" else unit)


# Shown by -v, or where rows differ in them
LONG_WORDS = ("reference", "scans", "axes", "group", "alignment", "repeat", "matched")


def _tells_apart(table: ResultTable, name: str) -> bool:
    return name not in LONG_WORDS or len({row.about.get(name) for row in table.rows}) > 1


def _unknown_column(name: str, table: ResultTable) -> OptionError:
    known = [*table.words, *table.numbers]
    return OptionError(f"there is no column {name!r}; {suggest_word(name, known)}")


def verdicts(table: ResultTable) -> str:
    """A line for each row: what it is about, and its verdict."""
    lines = []
    for row in table.rows:
        about = [name for name in table.words if name not in JUDGED and _tells_apart(table, name)]
        subject = ", ".join(str(row.about[name]) for name in about if row.about.get(name))
        lines.append(f"{subject}: {row.about.get('verdict') or row.about.get('failure') or '-'}\n")
    return "".join(lines)


JUDGED = ("verdict", "failure", "scans", "matched", "scored")
SCHEMA = "smfeval.table/1"


def document(table: ResultTable) -> dict[str, Any]:
    """The table as strict JSON data."""
    rows = []
    for row in table.rows:
        numbers = {name: number.to_dict() for name, number in row.numbers.items()}
        rows.append({"about": row.about, "numbers": numbers})
    return {"schema": SCHEMA, "kind": table.kind, "rows": rows}


def markdown(table: Table) -> str:
    """The cells as a table of Markdown."""
    lines = [table.headings, ("---",) * len(table.headings), *table.rows]
    escaped = ([escape_markdown(str(cell)) for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def table_text(
    table: ResultTable, ending: str, names: Sequence[str] | None = None, *, verbose: bool = False
) -> str:
    """The table as the ending of a file says: .csv has all columns, .tex and .md those shown."""
    if ending == ".csv":
        import polars as pl  # noqa: PLC0415  slow to import

        text = pl.col(pl.String).map_elements(words.csv_cell, return_dtype=pl.String)
        return table_frame(table).with_columns(text).write_csv()
    shown = shown_table(table, names, verbose=verbose)
    return render_latex("table.tex", table=shown) if ending == ".tex" else markdown(shown)

"""Names of columns and tables, and names that others chose, made fit to be shown."""

from smfeval.compare.across.result import Section
from smfeval.show.words import count
from smfeval.study.metrics import METRICS
from smfeval.study.result import Study

BEST = "the best contender and every one that it was tested against and does not significantly beat"


def meaning(study: Study) -> str:
    """What the numbers of all tables are."""
    level = f"{100 * study.plan.options.intervals.level:g} %"
    return f"median over tracks, its {level} interval in brackets"


def title_of(metric: str) -> str:
    """What stands above a column."""
    return METRICS[metric].title if metric in METRICS else visible(metric)


def title_of_section(section: Section, of: str) -> str:
    """Group and tracks of a table."""
    pairs = "pairs without a reference: " if of == "pair" else ""
    only = "converged only, of " if section.converged_only else ""
    return f"{pairs}{visible(section.group)} ({only}{count(section.tracks, 'track')})"


def title_of_study(study: Study) -> str:
    """Name and size of a study: 'nightly: 4 estimators, 12 tracks, 46 runs, 2 failed'.

    Where files are missing, 'and so many without a file' stands behind; those are no runs.
    """
    plan, failed, missing = study.plan, len(study.failed), len(study.missing)
    sizes = (
        count(len(plan.estimators), "estimator"),
        count(len(plan.tracks), "track"),
        count(len(study.results) - missing, "run"),
        *([f"{failed:,} failed"] if failed else []),
        *([f"{missing:,} without a file"] if missing else []),
    )
    return f"{visible(plan.name)}: {', '.join(sizes)}"


def visible(text: str) -> str:
    """The text on one line; what a terminal would obey rather than show is spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

"""The verdict in plain words: first on the page, with an icon, a colour and the evidence."""

from smfeval.evaluation import Evaluation
from smfeval.show.page.markup import Markup, sentence, tag
from smfeval.show.page.terms import term

HEADLINES = {
    "overconfident": "The reported uncertainty is too small: do not rely on it.",
    "consistent": "The reported uncertainty matches the errors.",
    "conservative": "The reported uncertainty is larger than the errors.",
    "cannot tell": "The data cannot tell whether the reported uncertainty is honest.",
    "no conclusion": "Nothing follows: the two differ no more than honest beliefs may.",
}

# Shapes differ as well as colours, so that nothing rests on colour alone.
ICONS = {
    "overconfident": "M12 2.5 22.5 21h-21z M12 9.2v5.6 M12 17.6v.4",
    "consistent": "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z M7.5 12.4l3 3 6-6.4",
    "conservative": "M12 2.5l8.5 3.2v6c0 5-3.6 8.6-8.5 9.8-4.9-1.2-8.5-4.8-8.5-9.8v-6z M8 12h8",
    "cannot tell": (
        "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20z M9.2 9.3c.2-3.6 5.8-3.4 5.6 0-.1 2-2.8 2.2-2.8 "
        "4.5 M12 17v.4"
    ),
}
UNKNOWN = "cannot tell"  # the look of a label that has none of its own


def card(label: str, headline: str, evidence: str, *, who: str = "") -> Markup:
    """A verdict as a card; one of several names whom it is about, and is smaller."""
    name = tag("p", who, class_="who") if who else Markup()
    words = tag(
        "div",
        name,
        tag("p", badge(label)),
        tag("p", headline, class_="headline"),
        tag("p", evidence, class_="evidence"),
    )
    return tag("div", icon(label), words, class_=f"verdict {look(label)}{' compact' * bool(who)}")


def verdict_card(evaluation: Evaluation, *, named: bool) -> Markup:
    """The verdict of an evaluation."""
    found = evaluation.verdict
    who = evaluation.estimate.provenance.name if named else ""
    return card(found.label, HEADLINES[found.label], evidence(found.label, found.sentence), who=who)


def badge(label: str) -> Markup:
    """The label as a word in its colour, explained."""
    return tag("span", term(label), class_=f"badge {look(label)}")


def icon(label: str) -> Markup:
    """The label's icon; a screen reader has the word beside it."""
    path = Markup(f'<path d="{ICONS.get(label, ICONS[UNKNOWN])}"/>')
    return tag("svg", path, class_="icon", viewBox="0 0 24 24", aria_hidden="true")


def look(label: str) -> str:
    """Class of the label's colour."""
    return (label if label in ICONS else UNKNOWN).replace(" ", "-")


def evidence(label: str, told: str) -> str:
    """The sentence without the label that already stands above it."""
    return sentence(told.removeprefix(f"{label}: "))

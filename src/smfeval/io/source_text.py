"""A source in one text: a file or URL, which of its tracks, and how it is read.

::

    run.mcap:/odom               a topic; behind a bag, a log or any file that is there also odom
    run.mcap:tf=map:base_link    a chain of transforms
    log.ulg:1, log.ulg:truth     another instance of the filter, the truth of a simulation
    a.csv?columns=x=px&body=imu  options of reading; behind a URL, whose ? is the server's, #

A file of that very name comes first.
"""

import re
from pathlib import Path
from typing import Any

from smfeval import words
from smfeval.errors import OptionError
from smfeval.io.options import ReadOptions
from smfeval.io.source import STANDARD_INPUT, URL, exists, is_url
from smfeval.schema import options_of, suggest_word

CHAIN = r"(?s)(?P<path>.+?):tf=(?P<tf>[^:]+:[^:]+)"
TOPIC = r"(?s)(?P<path>.{2,}):(?P<topic>/[\w/~.\-]*)"  # C:/ is a drive
BARE_TOPIC = r"(?s)(?P<path>.{2,}):(?P<topic>\w[\w/~.\-]*)"
WITH_TOPICS = (".bag", ".mcap", ".db3", ".ulg", ".ulg.gz", ".bin")  # files of several tracks
KEY = r"(?=[A-Za-z][\w-]*=)"
KEYS = {
    name.replace("_", "-"): each
    for each in options_of(ReadOptions)
    for name in {each.name, each.flag or each.name}
}


def file_beside(pattern: str, source: str) -> str:
    """A file of an estimate: its {folder}, the name of that ({parent}), its {name} without endings.

    Such as '{folder}/reference.tum'.
    """
    estimate, _ = parse_source(source)
    folder = Path(estimate).parent
    return (
        pattern.replace("{folder}", str(folder))
        .replace("{parent}", folder.name)
        .replace("{name}", words.stem(estimate))
    )


def parse_source(source: str | Path) -> tuple[str, dict[str, Any]]:
    """The path or URL of a source, and the options of reading that it names."""
    text = str(source)
    if text == STANDARD_INPUT or (not is_url(text) and exists(Path(text))):
        return text, {}
    text, options = split_options(text)
    if text == STANDARD_INPUT or (not is_url(text) and exists(Path(text))):
        return text, options
    place, track = split_topic(text)
    return place, with_own(source, track, options)


def split_topic(text: str) -> tuple[str, dict[str, str]]:
    """Path or URL, and the topic or chain of transforms behind it."""
    scheme = re.match(URL, text)
    start = scheme.end() if scheme else 0
    if found := re.compile(CHAIN).fullmatch(text, start):
        return text[: found.end("path")], {"tf": found["tf"]}
    if found := re.compile(TOPIC).fullmatch(text, start):
        return text[: found.end("path")], {"topic": found["topic"]}
    if found := re.compile(BARE_TOPIC).fullmatch(text, start):
        path = text[: found.end("path")]
        if path.lower().endswith(WITH_TOPICS) or (not start and exists(Path(path))):
            return path, {"topic": f"/{found['topic']}"}
    return text, {}


def split_options(text: str) -> tuple[str, dict[str, Any]]:
    """The text before its options of reading, and these."""
    sign = "#" if is_url(text) else "[?]"
    found = re.fullmatch(rf"(?s)(.+){sign}{KEY}(.+)", text)
    if found is None:
        file, _, key = text.rpartition("?")
        if file and not is_url(text) and exists(Path(file)):
            raise OptionError(f"{text}: write {key or 'KEY'}=VALUE behind the question mark")
        return text, {}
    options: dict[str, Any] = {}
    for part in re.split(f"&{KEY}", found[2]):
        key, _, value = part.partition("=")
        option = KEYS.get(key.replace("_", "-"))
        if option is None:
            raise OptionError(f"{text}: the option {key!r} is unknown; {suggest_word(key, KEYS)}")
        if option.name in options:
            raise OptionError(f"{text}: {key} is given twice")
        try:
            options[option.name] = option.parse(value)
        except ValueError as error:
            raise OptionError(f"{text}: {key} is to be {option.kind.words}") from error
        except OptionError as error:
            raise OptionError(f"{text}: {error}") from error
    return found[1], options


def with_own(source: str | Path, given: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Options given for a source with those that it names; two values of one are refused."""
    for name in given.keys() & own.keys():
        if str(given[name]).strip("/") != str(own[name]).strip("/"):
            raise OptionError(
                f"{source}: {name} is given twice, {own[name]} there and {given[name]} beside it"
            )
    return given | own

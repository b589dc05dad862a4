"""Extrinsics of a plan: numbers, or files that may differ from track to track."""

from pathlib import Path

from smfeval.errors import FormatError
from smfeval.io.extrinsic import read_extrinsic
from smfeval.io.source import exists
from smfeval.study.plan import Plan, PlannedTrack
from smfeval.study.plan_patterns import filled


class Extrinsics:
    """Each extrinsic is read once here, so that a wrong one stops the study before it starts."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self._known: dict[str, str] = {}

    def of(self, pattern: str | None, track: PlannedTrack, estimator: str) -> str | None:
        """The extrinsic for a track: an absolute path, or numbers as they are written."""
        if pattern is None:
            return None
        path = filled(pattern, track, self._plan).text
        if path not in self._known:
            self._known[path] = self._checked(path, pattern, estimator)
        return self._known[path]

    @staticmethod
    def _checked(path: str, pattern: str, estimator: str) -> str:
        source = pattern if "," in pattern and not exists(Path(path)) else path
        try:
            read_extrinsic(source)
        except FormatError as error:
            raise FormatError(f"estimator {estimator}, extrinsic: {error}") from error
        return source

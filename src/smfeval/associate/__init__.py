"""PAIR in time: which scan of the estimate meets which pose of the reference."""

from smfeval.associate.nearest import Pairs, nearest
from smfeval.associate.risk import GapRisk, gap_risk

__all__ = ["GapRisk", "Pairs", "gap_risk", "nearest"]

"""PAIR in time: which scan of the estimate meets which pose of the reference."""

from smfeval.associate.nearest import GapRisk, Pairs, gap_risk, nearest

__all__ = ["GapRisk", "Pairs", "gap_risk", "nearest"]

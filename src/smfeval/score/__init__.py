"""SCORE each scan: residuals in, one number per scan out; one rule per file, one table of rules."""

from smfeval.score.residuals import Ensemble, Residuals
from smfeval.score.rules import RULES, Rule, RuleSettings, scores

__all__ = ["RULES", "Ensemble", "Residuals", "Rule", "RuleSettings", "scores"]

"""CASE STUDY: why a LiDAR-inertial filter is overconfident, on worlds whose answer is known."""

from case_study.plan import FULL, QUICK, CaseStudyPlan, adapt_plan
from case_study.result import CaseStudy
from case_study.run import case_study

__all__ = ["FULL", "QUICK", "CaseStudy", "CaseStudyPlan", "adapt_plan", "case_study"]

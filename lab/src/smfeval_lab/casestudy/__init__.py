"""CASE STUDY: why a LiDAR-inertial filter is overconfident, on worlds whose answer is known."""

from smfeval_lab.casestudy.plan import FULL, QUICK, CaseStudyPlan, adapt_plan
from smfeval_lab.casestudy.result import CaseStudy
from smfeval_lab.casestudy.run import case_study

__all__ = ["FULL", "QUICK", "CaseStudy", "CaseStudyPlan", "adapt_plan", "case_study"]

"""CASE STUDY: why a LiDAR-inertial filter is overconfident, on worlds whose answer is known.

::

    plan          worlds, walks, filters, knobs and variants; the full and the quick one
    jobs          the runs that a plan asks for
    shelf         runs kept in a folder, so that a study resumes       telemetry
    measure       every run, scored
    scores        error, reported sigma, k, coverage, verdict
    turned        knobs turned, variants tried: slopes per nat, the gap that each closes
    explanations  credit, degeneracy, shared displacement
    says          what the numbers say                                 smoother, words
    conduct       the way from the plan to the findings
    result        what comes out
"""

from smfeval.lab.casestudy.plan import FULL, QUICK, CaseStudyPlan, adapt_plan
from smfeval.lab.casestudy.result import CaseStudy
from smfeval.lab.casestudy.run import case_study

__all__ = ["FULL", "QUICK", "CaseStudy", "CaseStudyPlan", "adapt_plan", "case_study"]

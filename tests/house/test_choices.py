"""The words that flags offer are those of the tables behind them, in the same order."""

from typing import get_args

import pytest

from smfeval import choices
from smfeval.align.fit import FITS
from smfeval.calibration.models import MODELS, ROTATION
from smfeval.cli import verb_flags
from smfeval.cli.main import VERBS
from smfeval.compare.sweep import SENTENCES
from smfeval.io.convention import CONVENTIONS
from smfeval.lab.cli import VERBS as LAB_VERBS
from smfeval.lab.cli import flags as lab_flags
from smfeval.lab.recording import LAYOUTS
from smfeval.lab.sensors import LIDARS, SURVEYS
from smfeval.lab.sensors.faults import HELP
from smfeval.monitor.eprocess import EVALUES
from smfeval.score import RULES
from smfeval.show.study.formats import FORMATS
from smfeval.studies.recipes import RECIPES


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (choices.RULE_NAMES, RULES),
        (choices.CONVENTION_NAMES, CONVENTIONS),
        (choices.MODEL_NAMES, MODELS),
        (choices.SWEEP_LABELS, SENTENCES),
        (choices.TAILS, EVALUES),
        (choices.STUDY_FORMATS, FORMATS),
        (choices.RECIPE_NAMES, RECIPES),
        (choices.GAUGES, get_args(choices.Gauge)),
        (choices.GAUGES, choices.GAUGE_ALIGNMENTS),
        (choices.ALIGNMENTS, get_args(choices.AlignmentKind)),
        (choices.ORDERS, get_args(choices.Order)),
        (lab_flags.LIDARS, LIDARS),
        (lab_flags.LAYOUTS, LAYOUTS),
        (verb_flags.FLAGS, [verb for verb in VERBS if verb != "lab"]),
        (lab_flags.FLAGS, LAB_VERBS),
    ],
)
def test_flags_offer_what_there_is(offered, known):
    assert tuple(offered) == tuple(known)


def test_every_alignment_but_that_of_one_pose_is_fitted():
    assert {*FITS, "first-pose"} == set(choices.ALIGNMENTS)


def test_flags_describe_what_there_is():
    assert {name: survey.description for name, survey in SURVEYS.items()} == lab_flags.SURVEYS
    assert lab_flags.FAULTS == HELP
    assert verb_flags.ROTATION_MODEL == ROTATION

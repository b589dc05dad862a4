"""The words that flags offer are those of the tables behind them, in the same order."""

import pytest

from smfeval import options, schema
from smfeval.align.fit import FITS
from smfeval.calibration.models import MODELS, ROTATION
from smfeval.cli import verb_flags
from smfeval.cli.main import VERBS
from smfeval.compare.sweep import SENTENCES
from smfeval.io.convention import CONVENTIONS
from smfeval.online.eprocess import EVALUES
from smfeval.score import RULES
from smfeval.show.study.formats import FORMATS
from smfeval.studies.plan import RECIPES


@pytest.mark.parametrize(
    ("offered", "known"),
    [
        (options.RULE_NAMES, RULES),
        (schema.CONVENTION_NAMES, CONVENTIONS),
        (verb_flags.MODEL_NAMES, MODELS),
        (verb_flags.SWEEP_LABELS, SENTENCES),
        (verb_flags.TAILS, EVALUES),
        (verb_flags.STUDY_FORMATS, FORMATS),
        (verb_flags.RECIPE_NAMES, RECIPES),
        (schema.GAUGES, schema.GAUGE_ALIGNMENTS),
        (verb_flags.FLAGS, VERBS),
    ],
)
def test_flags_offer_what_there_is(offered, known):
    assert tuple(offered) == tuple(known)


def test_every_alignment_but_that_of_one_pose_is_fitted():
    assert {*FITS, "first-pose"} == set(schema.ALIGNMENTS)


def test_flags_describe_what_there_is():
    assert verb_flags.ROTATION_MODEL == ROTATION

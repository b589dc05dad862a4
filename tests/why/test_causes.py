"""Every doubt and cause is one short line, and what to try another."""

import re

import pytest

from smfeval.why.causes import DIAGNOSES, ONE_TRACK, TWO_TRACKS

MOST = 90  # letters, with a value in every field
ADVICE = {f"{cause}, advice": advice for cause, (_, advice) in DIAGNOSES.items()}
CAUSES = {cause: sentence for cause, (sentence, _) in DIAGNOSES.items()}
WRITTEN = {**ONE_TRACK, **TWO_TRACKS, **CAUSES, **ADVICE}


@pytest.mark.parametrize("cause", [name for name, text in WRITTEN.items() if not callable(text)])
def test_a_sentence_is_one_short_line(cause):
    text = WRITTEN[cause]
    for each in (text,) if isinstance(text, str) else text:
        assert len(re.sub(r"{[^}]*}", "12.3 cm", each)) <= MOST

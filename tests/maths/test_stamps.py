import pytest

from smfeval.maths.stamps import seconds_text


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        (0, "0.000000000"),
        (1, "0.000000001"),
        (-1, "-0.000000001"),
        (1_710_755_138_355_631_351, "1710755138.355631351"),
    ],
)
def test_stamps_keep_every_digit(stamp, text):
    assert seconds_text(stamp) == text

"""When a diagnosis is named: all together are wrong for at most one honest belief in twenty."""

DOUBT = 0.025  # half of what is promised: p-values from few independent scans are rather too small
FAMILY = 13  # diagnoses that could be named
EACH = DOUBT / FAMILY  # p-value below which one is (Bonferroni: they depend on each other)

ENOUGH = 20.0  # independent scans that a p-value needs: below, slow errors pass for faults
SHORTEST = 60  # scans: with fewer, no diagnosis is tried
RELEVANT = 0.01  # part of the mean square that a systematic error must explain to be worth a name
TIGHTER = 1.5  # times the NEES of the other scans that a regime or stretch must have


def too_few(independent_scans: float) -> str:
    """Why a p-value is not believed."""
    return f"{independent_scans:.2g} independent scans are too few ({ENOUGH:g} are needed)"

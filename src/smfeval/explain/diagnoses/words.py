"""Numbers within the sentences of the diagnoses."""

UNITS = ((1.0, "m"), (1e-2, "cm"), (1e-3, "mm"))


def lengths(*metres: float) -> str:
    """Lengths in one unit: '3.2, -0.1, 0.4 cm'."""
    size = max(abs(each) for each in metres)
    scale, unit = next((u for u in UNITS if size >= u[0]), UNITS[-1])
    return f"{', '.join(f'{each / scale:.3g}' for each in metres)} {unit}"


def percent(share: float) -> str:
    """'12 %'."""
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"


def spans(stretches: list[tuple[float, float]]) -> str:
    """'120-160 s, 200-210 s'."""
    return ", ".join(f"{low:.0f}-{high:.0f} s" for low, high in stretches)

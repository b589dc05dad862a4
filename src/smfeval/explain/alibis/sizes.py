"""Sizes in words."""


def plain(value: float) -> str:
    """Three digits without an exponent where that is short: 0.123, 82, 14,065."""
    return f"{value:.3g}" if value < 999.5 or value >= 1e6 else f"{value:,.0f}"


def metres(size_m: float) -> str:
    """A length as a surveyor writes it: '2 mm', '4.1 cm', '1.3 m'."""
    for unit_m, unit in ((1.0, "m"), (1e-2, "cm"), (1e-3, "mm")):
        if abs(size_m) >= 0.9995 * unit_m:
            return f"{size_m / unit_m:.3g} {unit}"
    return f"{size_m / 1e-3:.2g} mm"


def milliseconds(size_s: float, *, signed: bool = False) -> str:
    """A time in milliseconds: '20 ms', '+3.5 ms'."""
    return f"{1e3 * size_s:{'+' if signed else ''}.3g} ms"

"""Numbers and counts as people write them."""

METRE_UNITS = ((1e3, "km"), (1.0, "m"), (1e-2, "cm"), (1e-3, "mm"), (1e-6, "um"), (1e-9, "nm"))


def count(number: int, noun: str, plural: str | None = None) -> str:
    """'1 scan', '2 scans', '1,000 scans'."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def number(value: float) -> str:
    """Three significant digits, plain where that is short: 0.0121, 82, 1.02e+06."""
    return f"{value:.3g}" if abs(value) < 999.5 or abs(value) >= 1e6 else f"{value:,.0f}"


def length_unit(size: float, *, centimetres: bool = True) -> tuple[float, str]:
    """The unit in which a length is easiest to read."""
    units = [u for u in METRE_UNITS if centimetres or u[1] != "cm"]
    return next((unit for unit in units if abs(size) >= unit[0] * 0.9995), units[-1])


def length(size: float) -> str:
    """A length with its unit: '1.2 cm', '340 m'."""
    if size == 0:
        return "0 m"
    scale, unit = length_unit(size)
    return f"{number(size / scale)} {unit}"


def length_range(low: float, high: float) -> str:
    """Two lengths in one unit: '0.7-1.1 mm'."""
    if high == 0:
        return "0 m"
    scale, unit = length_unit(high, centimetres=False)
    if number(low / scale) == number(high / scale):
        return f"{number(high / scale)} {unit}"
    return f"{number(low / scale)}-{number(high / scale)} {unit}"


def aligned(rows: list[tuple[str, str]], *, indent: int = 2) -> str:
    """Label and text in two columns; a label that repeats is shown once."""
    width = max(len(label) for label, _ in rows)
    lines, last = [], None
    for label, text in rows:
        lines.append(f"{'':{indent}}{'' if label == last else label:{width}}  {text}")
        last = label
    return "\n".join(lines)

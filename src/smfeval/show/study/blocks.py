"""Wide tables, broken into blocks that fit a line."""


def blocks(first: int, widths: list[int], *, limit: int) -> list[list[int]]:
    """Columns of each block, in order; every block repeats the first column.

    A column that is too wide stands alone.
    """
    found: list[list[int]] = []
    used = limit
    for column, width in enumerate(widths):
        if used + width > limit or not found:
            found.append([])
            used = first
        found[-1].append(column)
        used += width
    return found

"""What the C library does with memory that arrays free."""

from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
LARGEST_KEPT = 2**25  # bytes of an array; more is refused by older versions


def keep_freed_memory() -> None:
    """Keep what arrays free for the next ones, where the C library is GNU's.

    Pages that are given back and asked for anew took an eighth of the CPU at a million scans.
    """
    import ctypes  # noqa: PLC0415  numpy imports it, too

    with suppress(AttributeError, OSError, TypeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)

"""Lengths that the fast Fourier transform takes quickly."""


def fast_length(least: int) -> int:
    """The smallest product of twos, threes and fives that is not below `least`."""
    best = 1 << max(0, least - 1).bit_length()
    fives = 1
    while fives < best:
        odd = fives
        while odd < best:
            twos = max(0, -(-least // odd) - 1).bit_length()
            best = min(best, odd << twos)
            odd *= 3
        fives *= 5
    return best

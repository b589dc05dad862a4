"""Functions in machine code."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from smfeval.errors import OptionError

F = TypeVar("F", bound=Callable[..., Any])


def jit_compile(function: F) -> F:
    """The function in machine code: compiled at its first call, read from disk at later ones."""
    try:
        from numba import njit  # noqa: PLC0415  an extra: the sentence below is said if it is missing
    except ImportError as error:
        raise OptionError(
            "the lab needs numba: pip install numba (or '.[lab]' in the checkout)"
        ) from error
    return cast(F, njit(cache=True)(function))

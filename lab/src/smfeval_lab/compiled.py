"""Functions in machine code."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from smfeval.errors import OptionError

F = TypeVar("F", bound=Callable[..., Any])


def jit_compile(function: F) -> F:
    """The function in machine code: compiled at its first call, read from disk at later ones."""
    try:
        from numba import njit  # noqa: PLC0415  where it is missing, this sentence is said
    except ImportError as error:
        raise OptionError("the lab needs numba: pip install numba") from error
    return cast(F, njit(cache=True)(function))

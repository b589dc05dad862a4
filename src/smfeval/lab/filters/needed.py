"""Packages that only one filter needs: imported when it runs, with one line if they are missing."""

from importlib import import_module
from typing import Any

from smfeval.errors import OptionError


def needed(module: str, package: str, filter_name: str) -> Any:
    """The module, or the pip command that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OptionError(f"{filter_name} needs {package}: pip install {package}") from error

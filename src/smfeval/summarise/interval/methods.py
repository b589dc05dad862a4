"""The table of methods: a new one is a file and a line here."""

from collections.abc import Callable
from functools import partial

from smfeval.maths.blocks import SCHEMES
from smfeval.summarise.interval.auto import auto
from smfeval.summarise.interval.bootstrap import READ_ENDS, bootstrap
from smfeval.summarise.interval.request import Request
from smfeval.summarise.interval.result import Interval

Method = Callable[[Request], Interval]

METHODS: dict[str, Method] = {
    "auto": auto,
    **{
        f"{scheme}-{ends}": partial(bootstrap, scheme=scheme, ends=ends)
        for scheme in SCHEMES
        for ends in READ_ENDS
    },
}

"""How far can a number that summarises a dependent series be from the truth?

::

    series, statistic -> check -> METHODS[method] -> Interval(value, low, high, n_effective, ...)

`auto` (the default) was chosen because it covers, and refuses in words where it cannot; the block
bootstraps are the paper's.
"""

from smfeval.summarise.interval.methods import METHODS
from smfeval.summarise.interval.public import interval, paired_interval
from smfeval.summarise.interval.request import StatisticName
from smfeval.summarise.interval.result import Interval

__all__ = ["METHODS", "Interval", "StatisticName", "interval", "paired_interval"]

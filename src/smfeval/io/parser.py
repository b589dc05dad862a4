"""The parser of a text that costs less CPU: both read the same, to the last bit."""

import sys

from smfeval.io import parse_numpy
from smfeval.io.number_rows import Parser

LITTLE_BYTES = 8 * 2**20  # parsing this much by numpy costs as much as importing polars


class Thrift:
    """Takes numpy until it has cost a process as much as importing polars, and polars after that.

    So much text at once goes to polars, and so does little text if polars is there already. What
    was read before in a process decides, then, which of them reads; never what is read.
    """

    def __init__(self) -> None:
        self.parsed_bytes = 0

    def parser(self, text: bytes) -> Parser:
        """Choose the parser of a text."""
        self.parsed_bytes += len(text)
        if self.parsed_bytes <= LITTLE_BYTES and "polars" not in sys.modules:
            return parse_numpy.parsed
        from smfeval.io import parse_polars  # noqa: PLC0415  polars is slow to import

        return parse_polars.parsed


parser_of = Thrift().parser

"""Columns of numbers as a Parquet file, from numpy alone.

polars would write them, too, but every worker of a study would import it for nothing else (0.1 s),
and it starts threads. The file is one row group of plain pages, one for each column, and a footer
of Thrift's compact protocol (https://github.com/apache/parquet-format).
"""

from collections.abc import Mapping, Sequence

from smfeval.maths.arrays import Floats, Ints

Columns = Mapping[str, Ints | Floats | None]
Field = tuple[int, int, bytes]  # number, type and value, as Thrift writes them
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12  # types of Thrift
MAGIC = b"PAR1"
KINDS = {"i": (2, "<i8"), "f": (5, "<f8")}  # Parquet's INT64 and DOUBLE, by the kind of an array
OPTIONAL, PLAIN, RLE, UNCOMPRESSED, DATA_PAGE = 1, 0, 3, 0, 0  # codes of parquet.thrift
VERSION = 1


def parquet_of(columns: Columns) -> bytes:
    """A file of columns of 8-byte numbers, each (n,); None is one without any value."""
    rows = max(0 if values is None else len(values) for values in columns.values())
    file, schema, chunks = bytearray(MAGIC), [], []
    for name, values in columns.items():
        kind, written = KINDS["f" if values is None else values.dtype.kind]
        page = _page(b"" if values is None else values.astype(written).tobytes(), rows)
        at = len(file)
        file += page
        size = (_i64(6, len(page)), _i64(7, len(page)))
        text, encodings = _bytes(name.encode()), (_zigzag(PLAIN), _zigzag(RLE))
        named = (_listed(2, I32, encodings), _listed(3, BINARY, (text,)), _i32(4, UNCOMPRESSED))
        about = _struct(_i32(1, kind), *named, _i64(5, rows), *size, _i64(9, at))
        chunks.append(_struct(_i64(2, at), (3, STRUCT, about)))
        schema.append(_struct(_i32(1, kind), _i32(3, OPTIONAL), (4, BINARY, text)))
    count = _i64(3, rows)
    group = _struct(_listed(1, STRUCT, chunks), _i64(2, len(file) - len(MAGIC)), count)
    root = _struct((4, BINARY, _bytes(b"scans")), _i32(5, len(schema)))
    tree = _listed(2, STRUCT, [root, *schema])
    footer = _struct(_i32(1, VERSION), tree, count, _listed(4, STRUCT, [group]))
    return bytes(file + footer + len(footer).to_bytes(4, "little") + MAGIC)


def _page(values: bytes, rows: int) -> bytes:
    """All of a column: one run that says whether rows have a value, and the values."""
    run = _varint(rows << 1) + bytes([bool(values)])
    page = len(run).to_bytes(4, "little") + run + values
    about = _struct(_i32(1, rows), _i32(2, PLAIN), _i32(3, RLE), _i32(4, RLE))
    size = (_i32(2, len(page)), _i32(3, len(page)))
    return _struct(_i32(1, DATA_PAGE), *size, (5, STRUCT, about)) + page


def _i32(number: int, value: int) -> Field:
    """An integer of 4 bytes or less."""
    return number, I32, _zigzag(value)


def _i64(number: int, value: int) -> Field:
    """An integer of 8 bytes or less."""
    return number, I64, _zigzag(value)


def _listed(number: int, kind: int, values: Sequence[bytes]) -> Field:
    """Values of one type."""
    count = len(values)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)
    return number, LIST, head + b"".join(values)


def _struct(*fields: Field) -> bytes:
    """Fields by increasing number, each with its distance to the last."""
    written, last = bytearray(), 0
    for number, kind, value in fields:
        written.append((number - last) << 4 | kind)
        written += value
        last = number
    return bytes(written + b"\0")


def _bytes(value: bytes) -> bytes:
    return _varint(len(value)) + value


def _zigzag(value: int) -> bytes:
    return _varint(2 * value if value >= 0 else -2 * value - 1)


def _varint(value: int) -> bytes:
    """Seven bits per byte, the lowest first."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])

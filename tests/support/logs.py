"""Tiny logs of autopilots and receivers, written byte by byte from the formats' own rules."""

import struct
from pathlib import Path

import numpy as np

CODES = {"uint64_t": "Q", "uint32_t": "I", "uint8_t": "B", "bool": "?", "float": "f", "double": "d"}


def ulog(path: Path, topics, *, parameters=None, info=None) -> Path:
    """A ULog of topics `{(name, instance): {field: column}}`.

    A column of shape (n, d) is a float array; `timestamp` is in every topic, in us. Names of
    columns choose their types: see `_type`.
    """
    out = bytearray(b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0))
    out += _message("B", bytes(40))
    for name in dict.fromkeys(name for name, _ in topics):
        columns = next(each for (topic, _), each in topics.items() if topic == name)
        fields = ";".join(f"{_type(key, each)} {key}" for key, each in columns.items())
        out += _message("F", f"{name}:{fields};".encode())
    for key, value in (info or {}).items():
        out += _message("I", _keyed(f"uint32_t {key}", struct.pack("<I", value)))
    for key, value in (parameters or {}).items():
        out += _message("P", _keyed(f"float {key}", struct.pack("<f", value)))
    rows = []
    for number, ((name, instance), columns) in enumerate(topics.items()):
        out += _message("A", struct.pack("<BH", instance, number) + name.encode())
        for row, stamp in enumerate(columns["timestamp"]):
            packed = b"".join(_packed(key, each, row) for key, each in columns.items())
            rows.append((int(stamp), _message("D", struct.pack("<H", number) + packed)))
    for _, message in sorted(rows, key=lambda entry: entry[0]):
        out += message
    path.write_bytes(bytes(out))
    return path


def _message(kind: str, content: bytes) -> bytes:
    return struct.pack("<HB", len(content), ord(kind)) + content


def _keyed(key: str, value: bytes) -> bytes:
    return struct.pack("<B", len(key)) + key.encode() + value


def _plain_type(key: str) -> str:
    if key.startswith("timestamp"):
        return "uint64_t"
    whole = ("count", "valid", "n_states", "primary", "fused", "rejected")
    return "uint8_t" if any(word in key for word in whole) else "float"


def _type(key: str, column) -> str:
    column = np.asarray(column)
    size = f"[{column.shape[1]}]" if column.ndim == 2 else ""
    return f"{_plain_type(key)}{size}"


def _packed(key: str, column, row: int) -> bytes:
    code = CODES[_plain_type(key)]
    values = np.atleast_1d(np.asarray(column)[row])
    kind = float if code in "fd" else int
    return struct.pack(f"<{len(values)}{code}", *map(kind, values))


def dataflash(path: Path, messages) -> Path:
    """A DataFlash log of `[(type, {field: value})]` in their order; TimeUS is in all of them."""
    out, formats = bytearray(), {}
    out += _format(0x80, 89, "FMT", "BBnNZ", "Type,Length,Name,Format,Columns")
    for name, fields in messages:
        if name in formats:
            continue
        letters = "".join(
            "Q" if key == "TimeUS" else "B" if key in ("C", "PI", "Type") else "H" if key == "SS"
            else "d" if key in ("Lat", "Lng") else "f"
            for key in fields
        )  # fmt: skip
        formats[name] = 0x81 + len(formats), letters
        length = 3 + struct.calcsize("<" + letters)
        out += _format(formats[name][0], length, name, letters, ",".join(fields))
    for name, fields in messages:
        number, letters = formats[name]
        out += struct.pack("<BBB", 0xA3, 0x95, number) + struct.pack(
            "<" + letters, *fields.values()
        )
    path.write_bytes(bytes(out))
    return path


def _format(number: int, length: int, name: str, letters: str, columns: str) -> bytes:
    words = (name.encode(), letters.encode(), columns.encode())
    return struct.pack("<BBBBB4s16s64s", 0xA3, 0x95, 0x80, number, length, *words)


def ubx(number: int, payload: bytes) -> bytes:
    """A message of class NAV with its Fletcher checksum."""
    body = struct.pack("<BBH", 0x01, number, len(payload)) + payload
    first = second = 0
    for byte in body:
        first = (first + byte) & 255
        second = (second + first) & 255
    return b"\xb5\x62" + body + bytes([first, second])


def nav_pvt(itow_ms, llh, accuracy_m=(3.0, 5.0), *, minute=8, second=0, nano=0, fix=3, ok=1,
            carrier=0, invalid=0, date=(2024, 5, 6)):  # fmt: skip
    """NAV-PVT, 92 bytes: longitude first."""
    return ubx(0x07, struct.pack(
        "<IHBBBBBBIiBBBBiiiiIIiiiiiIIHHIihH",
        itow_ms, *date, 7, minute, second, 0b111, 0, nano, fix, ok | carrier << 6, 0, 9,
        round(llh[1] * 1e7), round(llh[0] * 1e7), round(llh[2] * 1e3), round(llh[2] * 1e3) - 40_000,
        round(accuracy_m[0] * 1e3), round(accuracy_m[1] * 1e3), 0, 0, 0, 0, 0, 0, 0, 0,
        invalid, 0, 0, 0, 0,
    ))  # fmt: skip


def nav_cov(itow_ms, ned, *, valid=1):
    """NAV-COV, 64 bytes: NN NE ND EE ED DD of the position, then of the velocity."""
    terms = [ned[i][j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    return ubx(0x36, struct.pack("<IBBB9s12f", itow_ms, 0, valid, valid, b"", *terms, *terms))


def sentence(words: str) -> str:
    """An NMEA sentence with its checksum."""
    check = 0
    for letter in words.encode():
        check ^= letter
    return f"${words}*{check:02X}\r\n"

"""Addresses of functions in a static 64-bit little-endian program."""

import struct
from pathlib import Path

_SYMTAB = 2


def addresses(path, names):
    """name -> address. Raises ValueError when one is missing. On POWER a function's address is
    that of its global entry, which runs into the local one."""
    data = Path(path).read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    found = {}
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != _SYMTAB:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, entry):
            name, _, other, _, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            begin = strings + name
            text = data[begin : data.index(b"\0", begin)].decode()
            if text in names:
                found[text] = value + _local_entry(data, other)
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"{path}: no function {missing[0]}; was the program stripped?")
    return found


def _local_entry(data, other):
    """ELFv2: callers within a program enter a function behind the set-up of its table pointer."""
    (machine,) = struct.unpack_from("<H", data, 18)
    power = 21
    bits = other >> 5
    return ((1 << bits) >> 2) << 2 if machine == power and bits > 1 else 0

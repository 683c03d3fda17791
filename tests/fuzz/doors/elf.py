"""The program and the libraries of a profiled case, as ELF files: a broken one has no segments."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from runner.profile.elf import read_sections, read_segments
from runner.profile.stack_unwinding import choose_call_graph
from tests.fuzz.door import Attempt
from tests.fuzz.mutation import mutated_bytes

SHARE = 500
_HEAD = 4096
"""Bytes of a real file: its header and its table of segments."""
_FIELDS = ((16, "<H"), (32, "<Q"), (40, "<Q"), *((place, "<H") for place in (54, 56, 58, 60, 62)))
"""Where the header says where the table is, how long an entry is, and how many there are."""


@contextmanager
def opened(folder: Path) -> Iterator[Attempt]:
    programs = [Path(name).resolve() for name in (sys.executable, "/bin/sh", "/usr/bin/git", "/usr/bin/env")]
    heads = [path.read_bytes()[:_HEAD] for path in programs if path.exists()]
    file = folder / "program"

    def attempt(rng: Random) -> str:
        head = bytearray(rng.choice(heads))
        if rng.random() < 0.6:
            offset, form = rng.choice(_FIELDS)
            most = 256 ** struct.calcsize(form) - 1
            struct.pack_into(form, head, offset, rng.choice((0, 1, 55, 56, 57, most, most // 2, rng.randrange(most))))
        data = mutated_bytes(bytes(head[: rng.choice((_HEAD, 1024))]), rng) if rng.random() < 0.7 else bytes(head)
        file.write_bytes(data)
        found = read_segments(file)
        assert choose_call_graph(file) in {"dwarf", "fp"}
        read_sections(file)
        return "segments" if found else "none"

    yield attempt

"""Touches N pages of a fresh mapping inside the region: perf counts exactly N faults."""

import json
import mmap
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from faultwatch_region import region


def touch(memory: mmap.mmap, pages: int) -> None:
    """Write one byte to each page."""
    for i in range(pages):
        memory[i * mmap.PAGESIZE] = 1


pages = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
touch(mmap.mmap(-1, 2 * mmap.PAGESIZE), 2)  # a warm-up, so that the interpreter's own pages do not fault in the region
with region():
    touch(memory, pages)
print(json.dumps({"operations": 1, "pages": pages, "faults": pages}))

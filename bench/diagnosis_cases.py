"""The bundled workloads whose diagnosis is known: the case that each report is about, and the one that is well."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """A workload with the case that its report is about, and the one that is well."""

    workload: str
    rule: str
    bad: Mapping[str, str | int]
    good: Mapping[str, str | int]


_SCAN = {"order": "row", "cache": "warm"}
_GALLERY = {"count": "bursts", "ramp_ms": 0, "memory_limit": "none"}
_MATRICES = {"steps": 20, "huge_pages": "never"}
_TENSOR = {"mib": 4, "steps": 500, "allocator": "glibc"}
_IMAGE = {"width": 1920, "height": 1080, "images": 20}

PAIRS = (
    Pair(
        "tensor_copy",
        "returned-memory",
        {**_TENSOR, "allocator": "jemalloc-no-decay", "buffer": "fresh"},
        {**_TENSOR, "allocator": "tcmalloc", "buffer": "fresh"},
    ),
    Pair(
        "matrix_scan",
        "mmap-lock",
        {**_SCAN, "access": "mmap", "threads": 16},
        {**_SCAN, "access": "read", "threads": 16},
    ),
    Pair(
        "fortran_init",
        "first-touch-storm",
        {**_MATRICES, "storage": "per_step", "processes": 4},
        {**_MATRICES, "storage": "once", "processes": 4},
    ),
    Pair("image_filter", "temporary-buffers", {**_IMAGE, "temporaries": "malloc"}, {**_IMAGE, "temporaries": "row"}),
    Pair(
        "gallery_search",
        "concurrent-first-use",
        {**_GALLERY, "memory": "private", "fill": "first_search", "searches": 8},
        {**_GALLERY, "memory": "shared_populate", "fill": "first_search", "searches": 8},
    ),
    Pair(
        "cold_start",
        "cold-start",
        {"page_cache": "cold", "program": "large"},
        {"page_cache": "host", "program": "large"},
    ),
    Pair("copy_service", "returned-memory", {"mib": 8, "operations": 25}, {"mib": 8, "operations": 25}),
    Pair("python_buffers", "temporary-buffers", {"buffer": "fresh", "mib": 4}, {"buffer": "reused", "mib": 4}),
)
"""The demo's and the Python workload have no report of their own; theirs are those of their kind."""

"""What the benchmark of the diagnosis profiles: the shipped workloads, and mutations of them that no rule knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pair:
    """A workload with the case that its report is about, and the one that is well."""

    workload: str
    rule: str
    bad: Mapping[str, str | int]
    good: Mapping[str, str | int]


@dataclass(frozen=True)
class Mutation:
    """A workload with another source or other arguments, and the rule that is right for it; none where it is well.

    ``command`` replaces words of the command; ``patch`` replaces texts of the source.
    """

    title: str
    workload: str
    parameters: Mapping[str, str | int]
    rule: str | None
    command: Mapping[str, str] = field(default_factory=dict)
    patch: Mapping[str, str] = field(default_factory=dict)


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

_BIG_STEP = {"{steps}": "25"}
_DROP = {
    "void put(char *, std::size_t) override {}": "void put(char *buffer, std::size_t bytes) override "
    "{ std::size_t at = (reinterpret_cast<std::size_t>(buffer) + 4095) & ~4095ul; "
    "madvise(reinterpret_cast<void *>(at), bytes - 4096, MADV_DONTNEED); }"
}
_WANT = {next(iter(_DROP)): next(iter(_DROP.values())).replace("MADV_DONTNEED", "MADV_WILLNEED")}
_KEEP = {
    "static void unmap_image(float *image)\n{\n    munmap(image, width * height * sizeof(float));": "static void "
    "unmap_image(float *image)\n{\n    madvise(image, width * height * sizeof(float), MADV_DONTNEED);\n"
    "    munmap(image, width * height * sizeof(float));"
}
_SHRINK = {"munmap(segment, SEGMENT);": "mprotect(segment, SEGMENT / 2, PROT_NONE);\n    munmap(segment, SEGMENT);"}

MUTATIONS = (
    Mutation(
        "64 MiB with glibc: above its threshold",
        "tensor_copy",
        {**_TENSOR, "mib": 64, "buffer": "fresh"},
        "temporary-buffers",
        _BIG_STEP,
    ),
    Mutation(
        "64 MiB with tcmalloc",
        "tensor_copy",
        {**_TENSOR, "mib": 64, "allocator": "tcmalloc", "buffer": "fresh"},
        None,
        {"{steps}": "400"},
    ),
    Mutation(
        "16 MiB with jemalloc's default decay",
        "tensor_copy",
        {**_TENSOR, "mib": 16, "allocator": "jemalloc", "buffer": "fresh"},
        "returned-memory",
        {"{steps}": "100"},
    ),
    Mutation(
        "1 MiB mapped for each copy", "tensor_copy", {**_TENSOR, "mib": 1, "buffer": "mapped"}, "temporary-buffers"
    ),
    Mutation(
        "the kept buffer dropped with MADV_DONTNEED",
        "tensor_copy",
        {**_TENSOR, "buffer": "reused"},
        "returned-memory",
        patch=_DROP,
    ),
    Mutation(
        "the kept buffer advised with MADV_WILLNEED: nobody takes it",
        "tensor_copy",
        {**_TENSOR, "buffer": "reused"},
        None,
        patch=_WANT,
    ),
    Mutation(
        "one buffer kept, with mimalloc", "tensor_copy", {**_TENSOR, "allocator": "mimalloc", "buffer": "reused"}, None
    ),
    Mutation(
        "small images",
        "image_filter",
        {**_IMAGE, "width": 640, "height": 480, "temporaries": "malloc"},
        "temporary-buffers",
        {"{images}": "60"},
    ),
    Mutation(
        "images mapped, advised away, unmapped",
        "image_filter",
        {**_IMAGE, "temporaries": "mapped"},
        "temporary-buffers",
        patch=_KEEP,
    ),
    Mutation(
        "large images in rows",
        "image_filter",
        {**_IMAGE, "height": 2160, "temporaries": "row"},
        None,
        {"{images}": "10"},
    ),
    Mutation(
        "images with jemalloc that keeps nothing",
        "image_filter",
        {**_IMAGE, "temporaries": "malloc"},
        "returned-memory",
        {"allocator": "jemalloc-no-decay"},
    ),
    Mutation(
        "columns, mapped by 8 threads, half of each protected first",
        "matrix_scan",
        {"access": "mmap", "order": "column", "cache": "warm", "threads": 8},
        "mmap-lock",
        patch=_SHRINK,
    ),
    Mutation("mapped by one thread", "matrix_scan", {**_SCAN, "access": "mmap", "threads": 1}, None),
    Mutation(
        "columns, read by 4 threads",
        "matrix_scan",
        {"access": "read", "order": "column", "cache": "warm", "threads": 4},
        None,
    ),
    Mutation(
        "8 processes, half as many steps",
        "fortran_init",
        {**_MATRICES, "storage": "per_step", "processes": 8},
        "first-touch-storm",
        {"{steps}": "10"},
    ),
    Mutation(
        "4 processes with static matrices", "fortran_init", {**_MATRICES, "storage": "static", "processes": 4}, None
    ),
    Mutation(
        "alone, and allocated by each step",
        "fortran_init",
        {**_MATRICES, "storage": "per_step", "processes": 1},
        "temporary-buffers",
    ),
    Mutation(
        "shared memory, 32 searches, 64 MiB",
        "gallery_search",
        {**_GALLERY, "memory": "shared", "fill": "first_search", "searches": 32},
        "concurrent-first-use",
        {"256": "64"},
    ),
    Mutation(
        "one search at a time",
        "gallery_search",
        {**_GALLERY, "memory": "private", "fill": "first_search", "searches": 1},
        None,
    ),
    Mutation("an interpreter from storage", "cold_start", {"page_cache": "cold", "program": "perl"}, "cold-start"),
)
"""Twenty. What is right for each follows from what the mutation does, and was written down before it was profiled."""

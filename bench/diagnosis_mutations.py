"""Draws mutations of the bundled workloads, each with its right diagnosis.

The right diagnosis follows from what a mutation does: it is part of the kind of mutation, and no rule is asked for it.
Sizes, threads, allocators, lifetimes of buffers, page sizes, locks, limits and the order of accesses are drawn.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

COPIED = 1 << 30
"""Bytes that a drawn tensor_copy copies: enough for some tenths of a second."""
PIXELS = 40_000_000
"""Pixels that a drawn image_filter filters."""


@dataclass(frozen=True)
class Change:
    """What replaces parts of a bundled workload.

    Attributes
    ----------
    command
        Words of the command.
    run
        Keys of ``[run]``.
    patch
        Texts of the sources.
    """

    command: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, object] = field(default_factory=dict)
    patch: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mutation:
    """A changed workload, and the rule that is right for it; None where nothing is wrong.

    ``before`` is the workload before the change, for the rules that compare two profiles.
    """

    title: str
    workload: str
    parameters: Mapping[str, str | int]
    rule: str | None
    change: Change = field(default_factory=Change)
    before: Change | None = None


Draw = Callable[[random.Random], Mutation]
Words = Mapping[str, str]
_NONE: Words = {}

_PUT = "void put(char *, std::size_t) override {}"


def _advised(advice: str) -> dict[str, str]:
    """Return the patch that advises the kernel about tensor_copy's kept buffer after each step."""
    body = (
        "std::size_t at = (reinterpret_cast<std::size_t>(buffer) + 4095) & ~4095ul; "
        f"madvise(reinterpret_cast<void *>(at), bytes - 4096, {advice});"
    )
    return {_PUT: f"void put(char *buffer, std::size_t bytes) override {{ {body} }}"}


def _tensor(
    mib: int,
    buffer: str,
    rule: str | None,
    title: str,
    allocator: str = "glibc",
    *,
    variables: Words = _NONE,
    patch: Words = _NONE,
) -> Mutation:
    steps = max(8, COPIED // (mib << 20))
    parameters = {"mib": mib, "steps": 500, "allocator": allocator, "buffer": buffer}
    change = Change(command={"{steps}": str(steps)}, run={"environment": dict(variables)}, patch=patch)
    return Mutation(f"{mib} MiB, {title}", "tensor_copy", parameters, rule, change)


def _decay(draw: random.Random) -> Mutation:
    mib = draw.choice([2, 3, 5, 7, 10, 20])
    return _tensor(mib, "fresh", "returned-memory", "jemalloc without decay", "jemalloc-no-decay")


def _oversize(draw: random.Random) -> Mutation:
    # jemalloc returns extents of 8 MiB or more at once, whatever the decay.
    mib = draw.choice([12, 18, 24, 30])
    return _tensor(mib, "fresh", "returned-memory", "jemalloc's oversized extents", "jemalloc")


def _kept_by_allocator(draw: random.Random) -> Mutation:
    allocator = draw.choice(["jemalloc", "tcmalloc", "glibc"])
    return _tensor(draw.choice([1, 2, 3, 5]), "fresh", None, f"kept by {allocator}", allocator)


def _above_threshold(draw: random.Random) -> Mutation:
    return _tensor(draw.choice([36, 44, 56, 72]), "fresh", "temporary-buffers", "above glibc's largest threshold")


def _trimmed(draw: random.Random) -> Mutation:
    trim = draw.choice([4096, 65536, 262144])
    variables = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": str(trim)}
    mib = draw.choice([2, 4, 9, 15])
    return _tensor(mib, "fresh", "temporary-buffers", "heap trimmed at each free", variables=variables)


def _mapped(draw: random.Random) -> Mutation:
    return _tensor(draw.choice([1, 2, 3, 6, 11]), "mapped", "temporary-buffers", "mapped for each copy")


def _dropped(draw: random.Random) -> Mutation:
    mib = draw.choice([2, 3, 6, 9])
    return _tensor(mib, "reused", "returned-memory", "dropped after each copy", patch=_advised("MADV_DONTNEED"))


def _harmless_advice(draw: random.Random) -> Mutation:
    advice = draw.choice(["MADV_WILLNEED", "MADV_NORMAL", "MADV_SEQUENTIAL"])
    return _tensor(draw.choice([2, 4, 8]), "reused", None, f"kept, advised with {advice}", patch=_advised(advice))


def _reused(draw: random.Random) -> Mutation:
    allocator = draw.choice(["glibc", "jemalloc", "tcmalloc", "mimalloc", "jemalloc-no-decay"])
    return _tensor(draw.choice([2, 5, 9]), "reused", None, f"one buffer kept, {allocator}", allocator)


def _slower_start(draw: random.Random) -> Mutation:
    table = draw.choice([8, 16, 24])
    loop = "for (std::size_t i = 0; i < bytes; ++i)\n        tensor[i] = static_cast<char>(i * 31);"
    read = (
        f"static char start_table[{table} << 20];\n"
        "    for (std::size_t i = 0; i < sizeof start_table; i += 512)\n"
        "        *static_cast<volatile char *>(&start_table[i]) = 1;\n    "
    )
    mutation = _tensor(4, "reused", "loader", f"a table of {table} MiB filled at start-up", patch={loop: read + loop})
    return Mutation(
        mutation.title,
        mutation.workload,
        mutation.parameters,
        "loader",
        mutation.change,
        before=Change(command=mutation.change.command),
    )


def _image(
    temporaries: str,
    rule: str | None,
    title: str,
    draw: random.Random,
    *,
    run: Mapping[str, object] | None = None,
    patch: Words = _NONE,
) -> Mutation:
    width, height = draw.choice([(640, 480), (1024, 768), (1280, 720), (1500, 1500), (2560, 1440), (1920, 1200)])
    words = {"{images}": str(max(6, PIXELS // (width * height)))}
    parameters = {"temporaries": temporaries, "width": width, "height": height, "images": 20}
    change = Change(command=words, run=run or {}, patch=patch)
    return Mutation(f"{width} by {height}, {title}", "image_filter", parameters, rule, change)


def _image_malloc(draw: random.Random) -> Mutation:
    return _image("malloc", "temporary-buffers", "temporaries from glibc", draw)


def _image_mapped(draw: random.Random) -> Mutation:
    return _image("mapped", "temporary-buffers", "temporaries mapped", draw)


def _image_advised(draw: random.Random) -> Mutation:
    unmap = "static void unmap_image(float *image)\n{\n"
    advise = "    madvise(image, width * height * sizeof(float), MADV_DONTNEED);\n"
    title = "temporaries mapped, dropped, unmapped"
    return _image("mapped", "temporary-buffers", title, draw, patch={unmap: unmap + advise})


def _image_rows(draw: random.Random) -> Mutation:
    return _image("row", None, "rows", draw)


def _image_kept(draw: random.Random) -> Mutation:
    kept = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
    return _image("malloc", None, "temporaries that glibc keeps", draw, run={"environment": kept})


def _image_decay(draw: random.Random) -> Mutation:
    return _image("malloc", "returned-memory", "jemalloc without decay", draw, run={"allocator": "jemalloc-no-decay"})


def _scan(
    access: str,
    threads: int,
    rule: str | None,
    title: str,
    draw: random.Random,
    *,
    command: Words = _NONE,
    limit: str = "none",
    patch: Words = _NONE,
) -> Mutation:
    order = draw.choice(["row", "column"])
    words = {"640": str(max(40, 2400 // threads)), **command}
    parameters = {"access": access, "order": order, "cache": "warm", "threads": threads}
    name = f"by {order}, {threads} threads, {title}"
    return Mutation(name, "matrix_scan", parameters, rule, Change(words, {"memory_limit": limit}, patch))


def _scan_mapped(draw: random.Random) -> Mutation:
    return _scan("mmap", draw.choice([5, 6, 10, 12, 14]), "mmap-lock", "mapped", draw)


def _scan_protected(draw: random.Random) -> Mutation:
    unmap = "munmap(segment, SEGMENT);"
    patch = {unmap: f"mprotect(segment, SEGMENT / {draw.choice([2, 4])}, PROT_NONE);\n    {unmap}"}
    return _scan("mmap", draw.choice([6, 8, 12]), "mmap-lock", "mapped and protected", draw, patch=patch)


def _scan_alone(draw: random.Random) -> Mutation:
    return _scan("mmap", 1, "file-windows", "mapped", draw, command={"640": str(draw.choice([400, 900]))})


def _scan_read(draw: random.Random) -> Mutation:
    return _scan("read", draw.choice([1, 3, 6, 12]), None, "read", draw)


def _scan_roomy(draw: random.Random) -> Mutation:
    limit = draw.choice(["4G", "16G", "64G"])
    return _scan("read", draw.choice([2, 4]), None, f"read, limit {limit}", draw, limit=limit)


def _scan_short(draw: random.Random) -> Mutation:
    limit = draw.choice(["24M", "32M", "40M"])
    words = {"{cache}": "cold", "640": str(draw.choice([128, 192]))}
    # A file that the execution itself wrote: the runner keeps its hands off the page cache of that.
    prepare = "prepare_cache(path);\n    if (cache_state"
    patch = {prepare: f'write_file(path = "scratch.data");\n    {prepare}'}
    return _scan("mmap", 1, "memory-short", f"limit {limit}", draw, command=words, limit=limit, patch=patch)


def _fortran(storage: str, processes: int, steps: int, n: int, rule: str | None) -> Mutation:
    patch = {"n = 100,": f"n = {n},"} if n != 100 else {}
    parameters = {"storage": storage, "steps": 20, "huge_pages": "never", "processes": processes}
    title = f"{storage}, {processes} processes, {steps} steps of {n}³"
    return Mutation(title, "fortran_init", parameters, rule, Change(command={"{steps}": str(steps)}, patch=patch))


def _storm(draw: random.Random) -> Mutation:
    processes, steps, n = draw.choice([3, 4, 6, 8]), draw.choice([12, 16, 24]), draw.choice([90, 100, 115])
    return _fortran("per_step", processes, steps, n, "first-touch-storm")


def _fortran_alone(draw: random.Random) -> Mutation:
    return _fortran("per_step", 1, draw.choice([16, 30, 40]), draw.choice([90, 100, 125]), "temporary-buffers")


def _fortran_kept(draw: random.Random) -> Mutation:
    storage, processes = draw.choice(["once", "static"]), draw.choice([1, 2, 4, 6])
    return _fortran(storage, processes, draw.choice([25, 40]), draw.choice([90, 100]), None)


def _gallery(
    memory: str, fill: str, searches: int, rule: str | None, draw: random.Random, limit: str = "none"
) -> Mutation:
    mib = draw.choice([64, 96, 160, 320])
    parameters = {
        **{"memory": memory, "fill": fill, "count": "bursts", "searches": searches, "ramp_ms": 0},
        "memory_limit": limit,
    }
    title = f"{mib} MiB, {memory}, filled at {fill}, {searches} searches, limit {limit}"
    return Mutation(title, "gallery_search", parameters, rule, Change(command={"256": str(mib)}))


def _gallery_first(draw: random.Random) -> Mutation:
    memory, searches = draw.choice(["private", "shared"]), draw.choice([2, 3, 5, 12, 24])
    return _gallery(memory, "first_search", searches, "concurrent-first-use", draw, draw.choice(["none", "8G"]))


def _gallery_ready(draw: random.Random) -> Mutation:
    memory, fill = draw.choice(
        [("private", "startup"), ("shared", "startup"), ("vector", "first_search"), ("vector", "startup"),
         ("private_populate", "first_search"), ("shared_populate", "first_search")]
    )  # fmt: skip
    return _gallery(memory, fill, draw.choice([2, 6, 16]), None, draw)


def _gallery_alone(draw: random.Random) -> Mutation:
    return _gallery(draw.choice(["private", "shared"]), "first_search", 1, None, draw)


def _huge_pages_lost(draw: random.Random) -> Mutation:
    parameters = {
        **{"memory": "private", "fill": "startup", "count": "load", "searches": 8, "ramp_ms": 0},
        "memory_limit": "none",
    }
    words = {"256": str(draw.choice([96, 160, 256]))}
    before = Change(command=words, run={"huge_pages": "always"})
    title = f"{words['256']} MiB loaded, huge pages switched off"
    return Mutation(title, "gallery_search", parameters, "huge-pages", Change(command=words), before=before)


def _cold(draw: random.Random) -> Mutation:
    program = draw.choice(["O3", "Os", "large", "perl"])
    return Mutation(f"{program} from storage", "cold_start", {"page_cache": "cold", "program": program}, "cold-start")


def _warm(draw: random.Random) -> Mutation:
    program = draw.choice(["O3", "Os", "large", "perl"])
    return Mutation(f"{program} from memory", "cold_start", {"page_cache": "host", "program": program}, None)


KINDS: tuple[tuple[Draw, int], ...] = (
    (_decay, 2),
    (_oversize, 1),
    (_kept_by_allocator, 2),
    (_above_threshold, 1),
    (_trimmed, 1),
    (_mapped, 2),
    (_dropped, 1),
    (_harmless_advice, 1),
    (_reused, 1),
    (_slower_start, 1),
    (_image_malloc, 2),
    (_image_mapped, 1),
    (_image_advised, 1),
    (_image_rows, 1),
    (_image_kept, 1),
    (_image_decay, 1),
    (_scan_mapped, 2),
    (_scan_protected, 1),
    (_scan_alone, 1),
    (_scan_read, 1),
    (_scan_roomy, 1),
    (_scan_short, 1),
    (_storm, 2),
    (_fortran_alone, 1),
    (_fortran_kept, 2),
    (_gallery_first, 2),
    (_gallery_ready, 1),
    (_gallery_alone, 1),
    (_huge_pages_lost, 1),
    (_cold, 2),
    (_warm, 1),
)
"""The kinds of mutations, and how many of each are drawn: forty."""


def draw_mutations(seed: int) -> list[Mutation]:
    """Return forty mutations; the same seed draws the same."""
    draw = random.Random(seed)
    return [kind(draw) for kind, number in KINDS for _ in range(number)]

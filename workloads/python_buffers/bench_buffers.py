"""A pyperf benchmark that copies a block of memory into a buffer: a fresh mapping for each copy, or a reused one."""

import mmap

import pyperf


def copy_fresh(loops, block):
    """Map a new buffer for each copy: every page faults in every copy."""
    start = pyperf.perf_counter()
    for _ in range(loops):
        with mmap.mmap(-1, len(block)) as buffer:
            buffer[:] = block
    return pyperf.perf_counter() - start


def copy_reused(loops, block):
    """Map one buffer for all copies of a value: its pages fault only in the first copy."""
    with mmap.mmap(-1, len(block)) as buffer:
        start = pyperf.perf_counter()
        for _ in range(loops):
            buffer[:] = block
        return pyperf.perf_counter() - start


def pass_on(command, arguments):
    """Pass the arguments that select the measurement on to pyperf's worker processes."""
    command += ["--buffer", arguments.buffer, "--mib", str(arguments.mib)]


runner = pyperf.Runner(add_cmdline_args=pass_on)
runner.argparser.add_argument("--buffer", choices=["fresh", "reused"], default="fresh")
runner.argparser.add_argument("--mib", type=int, default=4)
chosen = runner.parse_args()
runner.bench_time_func(
    f"copy-{chosen.buffer}", copy_fresh if chosen.buffer == "fresh" else copy_reused, b"x" * (chosen.mib << 20)
)

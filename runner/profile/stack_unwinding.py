"""Chooses how the stacks of a program are unwound: by frame pointers or by unwind tables."""

from collections.abc import Iterable
from pathlib import Path

from runner.contract.runtimes import JIT_RUNTIMES, find_runtime
from runner.measuring.trial import Trial
from runner.profile.elf import UNWINDING_SEGMENT_KIND, read_sections, read_segments
from runner.profile.perf_record_options import CallGraph
from runner.profile.relative_paths import make_path_relative


def choose_unwinding(trial: Trial) -> tuple[CallGraph, tuple[str, ...]]:
    """Return how to unwind the stacks of a case, with a remark if a language runtime decides this.

    All mapped files are examined, because a shell may have started the program.
    """
    if go_file := find_go_file(trial.own_files):
        name = make_path_relative(str(go_file.resolve()), f"{trial.tree.resolve()}/")
        return "fp", (_format_remark(f"{name} is a Go program, and Go keeps frame pointers"),)
    if runtime := find_jit_runtime(trial.mapped_files):
        return "fp", (_format_remark(f"{runtime} compiles code at run time, and such code has no unwind tables"),)
    return choose_call_graph(trial.program), ()


def find_jit_runtime(files: Iterable[Path]) -> str:
    """Return the name of the first file that belongs to a runtime that compiles code; empty if there is none."""
    runtime = find_runtime(str(file) for file in files)
    return runtime[1] if runtime and runtime[0] in JIT_RUNTIMES else ""


def _format_remark(reason: str) -> str:
    return f"stacks are unwound with frame pointers (--call-graph fp), because {reason}"


def find_go_file(files: Iterable[Path]) -> Path | None:
    """Return the first file that Go's linker wrote; None if there is none."""
    return next((file for file in files if (sections := read_sections(file)) and sections.is_go), None)


def choose_call_graph(program: Path) -> CallGraph:
    """Return the best way to unwind the stacks of a program that is not written in Go.

    Compilers omit frame pointers but write unwind tables, and the C library has only unwind tables. A file without
    unwind tables (such as a script) has frame pointers or nothing. LBR is never chosen: it needs hardware that virtual
    machines rarely have.
    """
    return "dwarf" if any(segment.kind == UNWINDING_SEGMENT_KIND for segment in read_segments(program)) else "fp"

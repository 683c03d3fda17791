"""What a profile says about names, lines and callers that are missing: real programs under a real perf."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.cli.profile_tables import show_profile
from runner.contract.profile import Frame, Profile, Stack, StackKind, StackProfile
from runner.contract.report import Case, Environment, Host, Revision
from runner.doctor.counting import require_measurable_host
from runner.measuring.trial import Bench, Subject, Trial
from runner.profile.case_profiler import collect_profile
from runner.profile.elf import LOAD_SEGMENT_KIND, Sections, contains_symbol, read_sections, read_segments
from runner.profile.missing_names_and_callers import (
    describe_functions_without_lines,
    describe_missing_callers,
    describe_missing_symbols,
    has_no_callers,
)
from runner.profile.script_parser import ScriptFrame
from runner.profile.source_lines import find_source_lines
from runner.profile.stack_folding import KERNEL as KERNEL_MODULE
from runner.profile.stack_folding import WeightedStacks
from runner.workload import load_workload

AGAIN = Path(__file__).parent / "recorded/again.c"
GROWING = """package main

//go:noinline
func grow(pages []byte) {
\tfor at := 0; at < len(pages); at += 4096 {
\t\tpages[at] = 1
\t}
}

//go:noinline
func middle() { grow(make([]byte, 16<<20)) }

func main() { middle() }
"""
LEAF, CALLER = ScriptFrame(0x100, "leaf", "/srv/a"), ScriptFrame(0x200, "main", "/srv/a")
KERNEL = ScriptFrame(0xFFFFFFFF81000000, "exc_page_fault", "[kernel.kallsyms]")
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="needs Go")


def compiled(folder: Path, *options: str, source: Path = AGAIN) -> Path:
    subprocess.run(["cc", "-O0", "-pthread", *options, "-o", "program", source], cwd=folder, check=True)
    return folder / "program"


def built_with_go(folder: Path, *options: str) -> Path:
    (folder / "main.go").write_text(GROWING)
    subprocess.run(["go", "build", *options, "-o", "program", "main.go"], cwd=folder, check=True)
    return folder / "program"


def profiled(folder: Path, command: str) -> Profile:
    require_measurable_host()
    (folder / "workload.toml").write_text(f'[workload]\nname = "w"\n[run]\ncommand = "{command}"\n')
    bench = Bench(Host(name="host"), lambda _: Environment(settings={}))
    revision = Revision(commit="a" * 40, committed_at=datetime.now(UTC))
    case = Case(workload="w", definition="0" * 16)
    return collect_profile(
        Trial(load_workload(folder), Subject("subject", revision, case), bench, folder), with_times=False
    )


def user_ways(profile: Profile) -> list[list[str]]:
    """Return the functions of each stack of faults without the kernel's, outermost first."""
    assert profile.faults is not None
    stacks = [[profile.frames[place] for place in stack.frames] for stack in profile.faults.stacks]
    return [[frame.function for frame in stack if frame.module != KERNEL_MODULE] for stack in stacks]


@needs_go
@pytest.mark.parametrize(("options", "symbols"), [((), True), (("-ldflags=-s -w",), False)])
def test_a_program_of_go_is_known_even_when_stripped(tmp_path: Path, options: tuple[str, ...], symbols: bool) -> None:
    assert read_sections(built_with_go(tmp_path, *options)) == Sections(True, symbols, symbols)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("-g",), Sections(False, True, True)),
        ((), Sections(False, True, False)),
        (("-s",), Sections(False, False, False)),
    ],
)
def test_what_a_compiler_left_in_a_program(tmp_path: Path, options: tuple[str, ...], found: Sections) -> None:
    assert read_sections(compiled(tmp_path, *options)) == found


def test_a_file_that_is_no_program_has_no_sections(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert read_sections(tmp_path / "script") is None
    assert read_sections(tmp_path / "nothing") is None


@needs_go
@pytest.mark.perf
def test_stacks_of_go_have_callers_although_a_shell_starts_it(tmp_path: Path) -> None:
    built_with_go(tmp_path)
    profile = profiled(tmp_path, "sh -c 'exec ./program'")
    assert any(way[-3:] == ["main.main", "main.middle", "main.grow"] for way in user_ways(profile))
    assert any("program is a Go program" in remark and "fp" in remark for remark in profile.remarks)
    assert not any("one frame" in remark for remark in profile.remarks)


@needs_go
@pytest.mark.skipif(not shutil.which("llvm-addr2line"), reason="needs LLVM")
def test_lines_of_go_are_read_with_llvm_where_gnu_finds_none(tmp_path: Path) -> None:
    program = built_with_go(tmp_path)
    symbols = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines()
    address = next(int(line.split()[0], 16) for line in symbols if line.endswith(" main.grow"))
    code = next(
        part
        for part in read_segments(program)
        if part.kind == LOAD_SEGMENT_KIND and 0 <= address - part.address < part.size
    )
    offset = address - code.address + code.offset
    found = find_source_lines(str(program), [offset])[offset]
    assert (found[0].function, Path(found[0].file).name) == ("main.grow", "main.go")


@pytest.mark.perf
def test_a_stripped_program_is_named_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiled(tmp_path, "-s")
    show_profile(profiled(tmp_path, "./program"))
    assert "program: stripped, so functions have no names; build without" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("build", "options", "said"),
    [
        (compiled, ("-g",), "no source lines could be read"),
        (compiled, (), "no source lines; build with `-g`"),
        (compiled, ("-s",), "stripped"),
        pytest.param(built_with_go, (), "no source lines could be read", marks=needs_go),
    ],
)
def test_what_a_file_lacks_is_said_truly(
    tmp_path: Path, build: Callable[..., Path], options: tuple[str, ...], said: str
) -> None:
    build(tmp_path, *options)
    (remark,) = describe_missing_symbols([Frame(function="[unknown]", module="program")], tmp_path)
    assert remark.startswith("program: ")
    assert said in remark
    assert not list(describe_missing_symbols([Frame(function="f", module="program", file="a.c", line=3)], tmp_path))


@pytest.mark.perf
def test_a_library_that_was_compiled_without_lines_into_a_program_with_lines_is_named(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text("void fill(char *at, long n) { for (long i = 0; i < n; i += 64) at[i] = 1; }\n")
    (tmp_path / "main.c").write_text(
        "#include <stdlib.h>\nvoid fill(char *at, long n);\nint main(void) { fill(malloc(64 << 20), 64 << 20); }\n"
    )
    subprocess.run(["cc", "-c", "library.c"], cwd=tmp_path, check=True)
    subprocess.run(["cc", "-g", "-o", "program", "main.c", "library.o"], cwd=tmp_path, check=True)
    remarks = profiled(tmp_path, "./program").remarks
    assert "program: no source lines of fill; compile their files with `-g` too" in remarks


def test_what_a_compiler_adds_to_a_program_needs_no_source_lines(tmp_path: Path) -> None:
    frames = [
        Frame(function="main", module="program", file="main.c", line=3),
        Frame(function="step", module="program", file="main.c", line=9),
        *(Frame(function=name, module="program") for name in ("_start", "malloc@plt", "step", "rare", "compress")),
        Frame(function="read", module="/usr/lib/libc.so.6"),
    ]
    weights = {(2, 0): 300, (0, 3): 300, (0, 4): 300, (0, 5): 40, (0, 7): 300, (2, 6, 7): 100}
    stacks = tuple(Stack(frames=indexes, weight=weight) for indexes, weight in weights.items())
    total = sum(weights.values())
    recorded = StackProfile(
        kind=StackKind.FAULTS, samples=total, period=1, total=total, call_graph="dwarf", stacks=stacks
    )
    assert not list(describe_functions_without_lines([recorded], frames, tmp_path))  # A static program.
    compiled(tmp_path)
    (remark,) = describe_functions_without_lines([recorded], frames, tmp_path)
    assert remark.startswith("program: no source lines of compress; ")


def test_stacks_of_one_frame_are_not_taken_for_call_chains() -> None:
    alone, whole = (LEAF, KERNEL), (LEAF, CALLER)
    assert has_no_callers(WeightedStacks(Counter({(KERNEL, LEAF): 95, whole: 5, (KERNEL,): 50}), 150))
    assert not has_no_callers(WeightedStacks(Counter({alone: 80, whole: 20}), 100))
    assert not has_no_callers(WeightedStacks(Counter({(KERNEL,): 100}), 100))
    assert not has_no_callers(WeightedStacks(Counter({alone: 3}), 3))
    (remark,) = describe_missing_callers(["faults", "on-cpu"], "dwarf")
    assert "faults and on-cpu have only one frame" in remark
    assert "--call-graph fp" in remark
    assert not list(describe_missing_callers([], "dwarf"))


def test_a_call_that_a_program_contains_is_known_by_its_name(tmp_path: Path) -> None:
    source = tmp_path / "main.c"
    source.write_text("#include <malloc.h>\nint main(void) { return mallopt(M_TRIM_THRESHOLD, 1); }\n")
    program = compiled(tmp_path, "-s", source=source)
    assert contains_symbol(program, "mallopt")
    assert not contains_symbol(program, "mall")
    (tmp_path / "text").write_bytes(b"\0mallopt\0")
    assert not contains_symbol(tmp_path / "text", "mallopt")
    assert not contains_symbol(tmp_path / "missing", "mallopt")

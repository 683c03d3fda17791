"""A real program under a real perf: profiled as it is measured."""

import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.profile import Access, Memory, Profile, Touch
from runner.contract.report import Case, Environment, Host, Revision
from runner.doctor.counting import require_measurable_host
from runner.measuring.trial import Bench, Subject, Trial
from runner.profile.case_profiler import collect_profile
from runner.profile.permissions import RecordingPermissions, detect_recording_permissions
from runner.workload import load_workload

pytestmark = pytest.mark.perf
AGAIN = Path(__file__).parent / "recorded/again.c"


TABLE_PAGES = 300


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    return compile_trial(AGAIN, tmp_path_factory.mktemp("again"))


def compile_trial(source: Path, folder: Path, *options: str) -> Trial:
    """Compile a program in a folder, and return a trial of it."""
    require_measurable_host()
    subprocess.run(["cc", "-O0", "-g", "-pthread", *options, "-o", "program", source], cwd=folder, check=True)
    (folder / "workload.toml").write_text(
        '[workload]\nname = "again"\n[run]\ncommand = "./program"\nhuge_pages = "never"\n'
    )
    bench = Bench(Host(name="host"), lambda _: Environment(settings={}))
    revision = Revision(commit="a" * 40, committed_at=datetime.now(UTC))
    case = Case(workload="again", definition="0" * 16)
    return Trial(load_workload(folder), Subject("subject", revision, case), bench, folder)


@pytest.fixture(scope="module")
def profile(trial: Trial) -> Profile:
    return collect_profile(trial)


def test_the_profile_counts_what_the_counter_counts(profile: Profile) -> None:
    assert profile.anatomy is not None
    assert profile.faults is not None
    assert profile.anatomy.lost == 0
    assert profile.anatomy.recorded == profile.anatomy.counted == profile.faults.total
    assert abs(profile.anatomy.counted - (profile.find_value("page-faults") or 0)) <= 2  # of another execution


def test_a_sample_that_was_just_taken_saves_counting_again(
    trial: Trial, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert profile.anatomy is not None  # the trial is warmed up
    sample = trial.execute()
    monkeypatch.setattr(Trial, "warm_up", lambda _: pytest.fail("it was warmed up again"))
    assert collect_profile(trial, with_times=False, counted_sample=sample).readings == sample.readings


def test_pages_that_were_given_back_are_told_from_new_ones(profile: Profile) -> None:
    assert profile.anatomy is not None
    # Three rounds of eight pages: touched, advised away, touched again, unmapped.
    if detect_recording_permissions().tracepoints:
        assert profile.anatomy.by_touch[Touch.AFTER_MADVISE] == 24
        assert profile.anatomy.by_touch[Touch.AFTER_MUNMAP] == 16
        assert profile.anatomy.by_access[Access.WRITE] >= 48
    assert profile.anatomy.by_memory[Memory.ANONYMOUS] >= 48


@pytest.mark.parametrize(
    "kind", ["PIE", *(pytest.param(kind, marks=pytest.mark.thorough) for kind in ("static", "library"))]
)
def test_static_data_of_programs_and_libraries_is_told_from_memory_that_is_requested(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "table.c"
    fill = f"for (int page = 0; page < {TABLE_PAGES}; page++) table[page][0] = 1;"
    code = f"static char table[{TABLE_PAGES}][4096]; int main(void) {{ {fill} return table[2][0] - 1; }}"
    source.write_text(code)
    trial = compile_trial(source, tmp_path)
    if kind == "static":
        subprocess.run(["cc", "-O0", "-static", "-o", "program", source], cwd=tmp_path, check=True)
    if kind == "library":
        (tmp_path / "library.c").write_text(code.replace("main", "run"))
        source.write_text("int run(void); int main(void) { return run(); }")
        subprocess.run(["cc", "-O0", "-shared", "-fPIC", "-o", "libtable.so", "library.c"], cwd=tmp_path, check=True)
        command = ["cc", "-O0", "-o", "program", source, "./libtable.so", "-Wl,-rpath,$ORIGIN"]
        subprocess.run(command, cwd=tmp_path, check=True)
    anatomy = collect_profile(trial, with_times=False).anatomy
    assert anatomy is not None
    assert TABLE_PAGES <= anatomy.by_memory[Memory.STATIC] + 1 <= TABLE_PAGES + 9  # and the variables of the C library
    assert anatomy.by_memory.get(Memory.ANONYMOUS, 0) < 20


def test_the_lines_that_give_pages_back_are_known_with_the_faults_that_follow(profile: Profile) -> None:
    if not detect_recording_permissions().tracepoints:
        pytest.skip("calls can be recorded with their stacks only if there are tracepoints")
    assert profile.returned is not None
    lines = AGAIN.read_text().splitlines()
    faults = {}
    for stack in profile.returned.stacks:
        frames = [profile.frames[index] for index in stack.frames]
        line = next(frame.line for frame in reversed(frames) if frame.function == "main")
        faults[frames[-1].function, lines[line - 1].split("(")[0].strip()] = stack.weight
    assert faults["madvise", "madvise"] == 24
    assert faults["munmap", "munmap"] == 16


def test_the_source_line_that_faults_is_named(profile: Profile) -> None:
    assert profile.anatomy is not None
    site = max(profile.anatomy.sites, key=lambda one: one.faults)
    line = AGAIN.read_text().splitlines()[site.frame.line - 1]
    assert site.frame.function == "touch"
    assert "memory[page * page_size] = 1" in line


def test_the_types_of_the_program_are_known(tmp_path: Path) -> None:
    source = tmp_path / "list.c"
    source.write_text("struct item { struct item *next; long keys[3]; } last;\nint main(void) { return 0; }\n")
    profile = collect_profile(compile_trial(source, tmp_path), with_times=False)
    assert [(layout.name, layout.bytes, layout.file, layout.line) for layout in profile.types] == [
        ("item", 32, "list.c", 1)
    ]


def test_stacks_lead_from_main_to_the_line(profile: Profile) -> None:
    assert profile.faults is not None
    ways = [[profile.frames[place].function for place in stack.frames] for stack in profile.faults.stacks]
    assert any(way[-2:] == ["main", "touch"] for way in ways)


def test_waiting_for_a_thread_is_seen(profile: Profile) -> None:
    assert profile.off_cpu is not None
    waits = {profile.frames[place].function for stack in profile.off_cpu.stacks for place in stack.frames}
    assert profile.off_cpu.total > 1_000_000
    if detect_recording_permissions().kernel:
        assert any("nanosleep" in name for name in waits)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the program is one for x86")
@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_the_calls_of_a_32_bit_program_are_not_taken_for_those_with_the_same_numbers(tmp_path: Path) -> None:
    source = AGAIN.with_name("unmap_32_bit.c")
    trial = compile_trial(source, tmp_path, "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie")
    try:
        subprocess.run([tmp_path / "program"], check=True)
    except OSError:
        pytest.skip("this kernel executes no 32-bit programs")
    profile = collect_profile(trial, with_times=False)
    assert profile.anatomy is not None
    assert profile.census is not None
    assert profile.census.source == "strace"
    assert {name: call.calls for name, call in profile.census.calls.items()} == {"munmap": 3}
    assert profile.anatomy.by_touch[Touch.AFTER_MUNMAP] == 32


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
def test_without_tracepoints_strace_records_the_calls(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = RecordingPermissions(tracepoints=False, error_codes=False, kernel=True)
    monkeypatch.setattr("runner.profile.case_profiler.detect_recording_permissions", lambda: forbidden)
    profile = collect_profile(trial, with_times=False)
    assert profile.census is not None
    assert profile.anatomy is not None
    assert profile.census.source == "strace"
    # As with tracepoints: pages that were advised away, or unmapped, are known when they are touched again.
    assert profile.anatomy.by_touch[Touch.AFTER_MADVISE] == 24
    assert profile.anatomy.by_touch[Touch.AFTER_MUNMAP] == 16
    assert profile.census.calls["madvise"].calls in {3, 4}  # an ending thread may advise its stack away
    assert set(profile.anatomy.by_access) == {Access.UNKNOWN}


def test_of_very_many_faults_some_are_recorded_and_all_calls(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.profile.perf_record_options.MAX_RECORDED_FAULTS", 50)
    profile = collect_profile(trial, with_times=False)
    assert profile.anatomy is not None
    assert profile.census is not None
    assert profile.anatomy.period > 1
    assert profile.census.calls["madvise"].calls in {3, 4}  # an ending thread may advise its stack away
    assert set(profile.anatomy.by_touch) == {Touch.UNKNOWN}

"""What runs in a live process, and which remedies fit it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.attach.live_program import (
    LiveProgram,
    detect_allocator,
    detect_runtime,
    identify_program,
    list_guards,
    list_modules,
    read_live_program,
    select_variables,
)
from runner.attach.live_remedies import can_have_effect, describe_trial, fit_diagnosis
from runner.attach.process_table import LiveProcess, read_process
from runner.contract.diagnosis import Diagnosis, Finding, Remedy
from runner.system.tree import Tree

MAPS = """55d0-55d1 r--p 00000000 fe:00 1 /opt/my app/server
55d1-55d2 r-xp 00001000 fe:00 1 /opt/my app/server
7f00-7f01 rw-p 00000000 00:00 0
7f01-7f02 r-xp 00000000 fe:00 2 /usr/lib/libjemalloc.so.2
7f02-7f03 r-xp 00000000 fe:00 3 /usr/lib/libc.so.6 (deleted)
7f03-7f04 r-xp 00000000 00:00 0 [vdso]
"""
LIBC = "/usr/lib/libc.so.6"


def make_program(allocator: str = "glibc", runtime: str = "", group: str = "/", **variables: str) -> LiveProgram:
    process = LiveProcess(7, 1, 0, "server", ("/opt/server", "-x"), group)
    return LiveProgram(process, "/opt/server", ("/opt/server", LIBC), allocator, runtime, variables)


def test_modules_are_the_mapped_code() -> None:
    assert list_modules(MAPS) == ("/opt/my app/server", "/usr/lib/libjemalloc.so.2", LIBC)


@pytest.mark.parametrize(
    ("file", "modules", "is_go", "runtime"),
    [
        ("/usr/bin/node", [], False, "node"),
        ("/usr/bin/java", ["/usr/lib/jvm/lib/server/libjvm.so"], False, "java"),
        ("/usr/bin/python3.11", [], False, "python"),
        ("/srv/app", [], True, "go"),
        ("/srv/nodes", ["/usr/lib/libc.so.6"], False, ""),
    ],
)
def test_runtimes_are_found_by_their_files(file: str, modules: list[str], is_go: bool, runtime: str) -> None:
    assert detect_runtime(file, modules, is_go=is_go) == runtime


@pytest.mark.parametrize(
    ("modules", "runtime", "static", "allocator"),
    [
        (["/usr/lib/libjemalloc.so.2", LIBC], "", "", "jemalloc"),
        ([LIBC], "", "", "glibc"),
        ([LIBC], "", "jemalloc", "jemalloc"),
        ([LIBC], "go", "", "go"),
        (["/lib/ld-musl-x86_64.so.1"], "", "", "musl"),
        (["/srv/static"], "", "", ""),
    ],
)
def test_allocators_are_found_by_their_files(modules: list[str], runtime: str, static: str, allocator: str) -> None:
    assert detect_allocator(modules, runtime, static) == allocator


def test_options_of_java_are_read() -> None:
    assert select_variables("_JAVA_OPTIONS=-Xmx1g\0") == {"_JAVA_OPTIONS": "-Xmx1g"}


def test_only_variables_of_allocators_and_runtimes_are_read() -> None:
    environ = "PASSWORD=x\0MALLOC_CONF=narenas:1\0AWS_SECRET=y\0GOGC=50\0MALLOC_ARENA_MAX=2"
    assert select_variables(environ) == {"MALLOC_CONF": "narenas:1", "GOGC": "50", "MALLOC_ARENA_MAX": "2"}


def test_this_interpreter_is_recognised() -> None:
    process = read_process(Tree(), os.getpid())
    assert process is not None
    program = read_live_program(process)
    assert program.runtime == "python"
    assert Path(program.file).samefile(sys.executable)
    assert not program.has_own_files


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_program_that_only_its_own_mounts_show_has_files_of_its_own(tmp_path: Path) -> None:
    script = f"mount -t tmpfs none {tmp_path} && cp /bin/sleep {tmp_path}/own && exec {tmp_path}/own 60"
    process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "sh", "-c", script])
    try:
        deadline = time.monotonic() + 10
        while Path(f"/proc/{process.pid}/exe").readlink().name != "own" and time.monotonic() < deadline:
            time.sleep(0.01)
        live_process = read_process(Tree(), process.pid)
        assert live_process is not None
        assert read_live_program(live_process).has_own_files
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("settings", "program", "works"),
    [
        ({"env.MALLOC_CONF": "x"}, make_program("jemalloc"), True),
        ({"env.MALLOC_CONF": "x"}, make_program("glibc"), False),
        ({"env.JE_MALLOC_CONF": "x"}, make_program("jemalloc"), True),
        ({"env._RJEM_MALLOC_CONF": "x"}, make_program("glibc"), False),
        ({"env.TCMALLOC_RELEASE_RATE": "0"}, make_program("glibc"), False),
        ({"env.MIMALLOC_PURGE_DELAY": "0"}, make_program("mimalloc"), True),
        ({"env.MIMALLOC_PURGE_DELAY": "0"}, make_program("jemalloc"), False),
        ({"env.MALLOC_TRIM_THRESHOLD_": "1"}, make_program("glibc"), True),
        ({"env.MALLOC_TRIM_THRESHOLD_": "1"}, make_program("jemalloc"), False),
        ({"allocator": "tcmalloc"}, make_program("glibc"), True),
        ({"allocator": "tcmalloc"}, make_program("tcmalloc"), False),
        ({"allocator": "tcmalloc"}, make_program("go", "go"), False),
        ({"thp": "always"}, make_program("go", "go"), True),
    ],
)
def test_a_remedy_is_offered_where_it_can_work(settings: dict[str, str], program: LiveProgram, works: bool) -> None:
    assert can_have_effect(settings, program) is works


def test_how_a_remedy_is_tried_with_a_live_program() -> None:
    settings = {"env.MALLOC_TRIM_THRESHOLD_": "9", "env.MALLOC_MMAP_THRESHOLD_": "8"}
    tunables = "GLIBC_TUNABLES=glibc.malloc.trim_threshold=9:glibc.malloc.mmap_threshold=8"
    assert describe_trial(settings, make_program()) == f"start it with {tunables}"
    unit = make_program(group="/system.slice/web.service")
    trial = describe_trial(settings, unit)
    assert trial.startswith(f'run `systemctl edit web.service`, add [Service] Environment="{tunables}"')
    assert "/sys/kernel/mm/transparent_hugepage/enabled" in describe_trial({"thp": "always"}, unit)
    assert "GOGC='50; rm'" in describe_trial({"env.GOGC": "50; rm"}, make_program())


@pytest.mark.parametrize(
    ("group", "way"),
    [
        ("app.slice/web.service", "run `systemctl --user edit web.service`, add [Service]"),
        ("app.slice/app-terminal.scope", "start it with GOGC=50"),
        ("init.scope", "start it with GOGC=50"),
    ],
)
def test_a_remedy_for_a_users_program_does_not_restart_all_programs_of_the_user(group: str, way: str) -> None:
    program = make_program(group=f"/user.slice/user-1000.slice/user@1000.service/{group}")
    assert describe_trial({"env.GOGC": "50"}, program).startswith(way)


def test_libraries_that_are_preloaded_already_stay() -> None:
    program = make_program(LD_PRELOAD="/opt/shim.so")
    trial = describe_trial({"allocator": "tcmalloc"}, program)
    assert trial == "start it with LD_PRELOAD='libtcmalloc_minimal.so.4 /opt/shim.so'"


def test_values_are_written_as_systemd_reads_them() -> None:
    unit = make_program(group="/system.slice/web.service")
    trial = describe_trial({"env.NODE_OPTIONS": '--title="50%" --x'}, unit)
    assert 'Environment="NODE_OPTIONS=--title=\\"50%%\\" --x"' in trial


def test_a_runtime_with_its_own_heap_gets_no_other_allocator() -> None:
    finding = Finding(
        rule="returned-memory",
        title="t",
        evidence=(),
        remedies=(Remedy(text="a", settings={"allocator": "tcmalloc"}), Remedy(text="keep the buffer")),
        report="r",
        price=0.5,
    )
    diagnosis = Diagnosis(findings=(finding,), evidence=())
    (fitted,) = fit_diagnosis(diagnosis, make_program("go", "go")).findings
    assert [remedy.text for remedy in fitted.remedies] == ["keep the buffer"]
    (fitted,) = fit_diagnosis(diagnosis, make_program()).findings
    assert fitted == finding


def test_the_guards_of_stacks_are_known_and_what_reserves_much_is_none() -> None:
    maps = (
        "7f0000000000-7f0000001000 ---p 00000000 00:00 0 \n"
        "7f0000001000-7f0000801000 rw-p 00000000 00:00 0 \n"
        "7f0004000000-7f0008000000 ---p 00000000 00:00 0 \n"
        "7f0010000000-7f0010001000 ---p 00001000 fe:00 1234                       /usr/lib/libm.so.6\n"
    )
    (guard,) = list_guards(7, maps)
    assert (guard.pid, guard.start, guard.size, guard.protection) == (7, 0x7F0000000000, 4096, "---p")


def test_a_program_without_a_readable_file_is_identified_even_if_its_path_is_not_text() -> None:
    paths = [os.fsdecode(b"/no-such-folder/caf\xe9"), "/no-such-folder/cafe"]
    digests = {identify_program(LiveProgram(LiveProcess(7, 1, 0, "server"), path)) for path in paths}
    assert [len(digest) for digest in digests] == [40, 40]


@pytest.mark.parametrize(
    ("words", "file", "name"),
    [
        (("/opt/my app/server", "-x"), "/opt/my app/server", "server"),
        (("./my server",), "/opt/my server", "my server"),
        (("nginx: master process /usr/sbin/nginx -g daemon",), "/usr/sbin/nginx", "nginx"),
        (("/usr/bin/redis-server *:6379",), "/usr/bin/redis-check-rdb", "redis-server"),
        ((), "/opt/my app/server", "server"),
    ],
)
def test_a_program_in_a_folder_whose_name_has_a_space_keeps_its_name(
    words: tuple[str, ...], file: str, name: str
) -> None:
    assert LiveProgram(LiveProcess(7, 1, 0, "comm", words), file).name == name

"""Functions that a runtime compiles: their names in maps, and in the profile of a real one."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.own_frame import find_own_frame
from runner.contract.profile import COMPILED_MODULE, RUNTIME_MODULE, Frame
from runner.contract.report import Case, Environment, Host, Revision
from runner.doctor.counting import require_measurable_host
from runner.execution.sandbox import create_sandbox
from runner.measuring.trial import Bench, Subject, Trial
from runner.profile.case_profiler import collect_profile
from runner.profile.compiled_code import CodeMap, CompiledCode, add_map_variables, parse_compiled_frame
from runner.profile.script_parser import Fault, ScriptFrame, Stacked
from runner.workload import load_workload

MODULE = "/tmp/perf-4711.map"


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("JS:*resize /srv/app.js:12:20", Frame(function="resize", module=COMPILED_MODULE, file="/srv/app.js", line=12)),
        (
            "JS:~resize file:///srv/my app.mjs:3:1",
            Frame(function="resize", module=COMPILED_MODULE, file="/srv/my app.mjs", line=3),
        ),
        ("JS:* /srv/app.js:7:1", Frame(function="(anonymous)", module=COMPILED_MODULE, file="/srv/app.js", line=7)),
        ("JS:*emit node:events:465:44", Frame(function="emit", module=RUNTIME_MODULE, file="node:events", line=465)),
        ("py::resize:/srv/app.py", Frame(function="resize", module=COMPILED_MODULE, file="/srv/app.py")),
        ("int App.touch(int)", Frame(function="App.touch(int)", module=COMPILED_MODULE)),
        ("void org.a.B$C.run()", Frame(function="org.a.B$C.run()", module=COMPILED_MODULE)),
        (
            "byte[] java.util.Arrays.copyOf(byte[], int)",
            Frame(function="java.util.Arrays.copyOf(byte[], int)", module=RUNTIME_MODULE),
        ),
        ("Interpreter", Frame(function="Interpreter", module=RUNTIME_MODULE)),
        ("[unknown]", Frame(function="[unknown]", module=COMPILED_MODULE)),
    ],
)
def test_a_name_in_a_map_is_split_into_function_file_and_line(name: str, frame: Frame) -> None:
    assert parse_compiled_frame(ScriptFrame(0x7F00, name, MODULE)) == frame


def test_functions_of_files_are_not_compiled_at_run_time() -> None:
    assert parse_compiled_frame(ScriptFrame(0x10, "main", "/srv/program")) is None


def test_the_programs_function_is_named_and_not_the_stub_of_its_runtime() -> None:
    program = Frame(function="App.touch(int)", module=COMPILED_MODULE)
    stub = Frame(function="_new_array_Java", module=RUNTIME_MODULE)
    libc = Frame(function="memset", module="/usr/lib/libc.so.6", file="memset.S", line=236)
    assert find_own_frame([program, stub, libc]) == program


def test_an_address_belongs_to_the_function_that_came_last_there() -> None:
    code = CodeMap(b"0x1000 0x20 first\n2000 10 other\nnonsense\n1000 20 second\n")
    assert [code.find_name(at) for at in (0xFFF, 0x1000, 0x101F, 0x1020, 0x2005)] == [
        "",
        "second",
        "second",
        "",
        "other",
    ]


def test_a_function_that_replaced_a_part_of_another_is_found_in_all_of_its_code() -> None:
    code = CodeMap(b"1000 20 first\n1010 4 inside\n800 1000 around\n1030 10 last\n1030 0 empty\n")
    found = [code.find_name(address) for address in (0x7FF, 0x800, 0x1000, 0x1011, 0x102F, 0x1030, 0x1040, 0x1800)]
    assert found == ["", "around", "around", "around", "around", "last", "around", ""]


def test_names_lose_what_cannot_be_printed() -> None:
    assert CodeMap(b"1000 20 a\x1b[31m\xffb\x00\n").find_name(0x1000) == "a[31m\ufffdb"


def test_options_of_the_program_stay_before_those_that_ask_for_maps() -> None:
    variables = add_map_variables({"NODE_OPTIONS": "--max-semi-space-size=64", "PORT": "1"})
    assert variables["NODE_OPTIONS"] == "--max-semi-space-size=64 --perf-basic-prof-only-functions"
    assert variables["PORT"] == "1"


def _collect_maps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> CompiledCode:
    """Return what was read from a folder that stands for the program's own."""
    monkeypatch.setattr("runner.profile.compiled_code._MAP_FOLDER", str(folder))
    code = CompiledCode(is_private=True)
    code.attach([os.getpid()])
    code.close()
    return code


def test_stacks_and_faults_get_the_names_of_their_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "perf-2.map").write_text("7f00 100 JS:*resize /srv/app.js:1:1\n")
    code = _collect_maps(tmp_path, monkeypatch)
    stack = Stacked(
        1, 1, 0.0, "faults", (ScriptFrame(0x7F10, "[unknown]", MODULE), ScriptFrame(0x8000, "[unknown]", MODULE))
    )
    fault = Fault(1, 1, 0.0, "page-faults", 0x1000, 0x7F20, f"[unknown] ({MODULE})")
    known = Fault(1, 1, 0.0, "page-faults", 0x1000, 0x7F20, "main+0x1 (/srv/program)")
    named_stack, named_fault, unchanged = code.name_functions([stack, fault, known])
    assert [frame.function for frame in named_stack.frames] == ["JS:*resize /srv/app.js:1:1", "[unknown]"]
    assert named_fault.place == f"JS:*resize /srv/app.js:1:1 ({MODULE})"
    assert unchanged is known


def test_maps_that_do_not_agree_name_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "perf-2.map").write_text("7f00 100 one\n")
    (tmp_path / "perf-3.map").write_text("7f00 100 two\n8000 10 three\n")
    stack = Stacked(
        1, 1, 0.0, "faults", (ScriptFrame(0x7F10, "[unknown]", MODULE), ScriptFrame(0x8000, "[unknown]", MODULE))
    )
    (named,) = _collect_maps(tmp_path, monkeypatch).name_functions([stack])
    assert [frame.function for frame in named.frames] == ["[unknown]", "three"]


def test_what_a_program_puts_in_place_of_a_map_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_text("7f00 100 secret\n")
    (tmp_path / "perf-2.map").symlink_to(secret)
    os.mkfifo(tmp_path / "perf-3.map")
    (tmp_path / "perf-4.map").mkdir()
    stack = Stacked(1, 1, 0.0, "faults", (ScriptFrame(0x7F10, "[unknown]", MODULE),))
    (named,) = _collect_maps(tmp_path, monkeypatch).name_functions([stack])
    assert named.frames[0].function == "[unknown]"


def test_endless_maps_are_read_up_to_a_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for process in range(20):
        map_file = tmp_path / f"perf-1{process:02}.map"
        map_file.write_text("7f00 100 first\n")
        os.truncate(map_file, 1 << 31)
    (tmp_path / "perf-9.map").write_text("8000 10 last\n")
    stack = Stacked(
        1, 1, 0.0, "faults", (ScriptFrame(0x7F10, "[unknown]", MODULE), ScriptFrame(0x8000, "[unknown]", MODULE))
    )
    (named,) = _collect_maps(tmp_path, monkeypatch).name_functions([stack])
    assert [frame.function for frame in named.frames] == ["first", "[unknown]"]


SCRIPT = """
function resize(bytes) {
  const pixels = Buffer.alloc(bytes);
  for (let i = 0; i < bytes; i += 4096) pixels[i] = 1;
  return pixels[bytes >> 1];
}
let sum = 0;
for (let i = 0; i < 100; i++) sum += resize(1 << 20);
console.log(sum);
"""


@pytest.fixture
def tree() -> Iterator[Path]:
    """A folder in which the user of a sandbox can run a program."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-code-") as folder:
        tree = Path(folder)
        (tree / "app.js").write_text(SCRIPT)
        (tree / "workload.toml").write_text('[workload]\nname = "resize"\n[run]\ncommand = "node app.js"\n')
        tree.chmod(0o755)
        yield tree


@pytest.mark.perf
@pytest.mark.skipif(shutil.which("node", path="/usr/bin:/bin") is None, reason="there is no node")
@pytest.mark.parametrize(
    "is_sandboxed", [True, pytest.param(False, marks=pytest.mark.thorough)], ids=["sandboxed", "open"]
)
def test_a_function_of_javascript_is_named_with_its_line(tree: Path, is_sandboxed: bool) -> None:
    require_measurable_host()
    sandbox = create_sandbox() if is_sandboxed else None
    if sandbox:
        sandbox.change_owner(tree)
    bench = Bench(Host(name="host"), lambda _: Environment(settings={}), sandbox=sandbox)
    revision = Revision(commit="a" * 40, committed_at=datetime.now(UTC))
    case = Case(workload="resize", definition="0" * 16)
    profile = collect_profile(
        Trial(load_workload(tree), Subject("subject", revision, case), bench, tree), with_times=False
    )
    assert profile.anatomy is not None
    site = max(profile.anatomy.sites, key=lambda site: site.faults)
    assert (site.frame.function, site.frame.file, site.frame.line) == ("resize", "app.js", 2)
    assert not list(Path("/tmp").glob("perf-*.map"))

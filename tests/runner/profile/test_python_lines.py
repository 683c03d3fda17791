"""The faults of each line of a Python program."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.profile import PythonLine
from runner.profile.python_lines import PythonLineRecorder, executes_python, parse_lines

PROGRAM = """\
import json
import threading

def copy(chunk):
    page = bytearray(chunk)
    return page

def load(text):
    return json.loads(text)

chunk = bytes(8 << 20)
for turn in range(10):
    copy(chunk)
load(json.dumps(list(range(200_000))))
"""


def run_traced(tree: Path, source: str, *words: str) -> tuple[PythonLine, ...]:
    """Run a program that counts the faults of its lines."""
    (tree / "program.py").write_text(source)
    recorder = PythonLineRecorder(tree)
    recorder.attach([])
    variables = recorder.add_variables({"PATH": os.environ["PATH"]})
    subprocess.run([sys.executable, "program.py", *words], cwd=tree, env=variables, check=True, timeout=60)
    recorder.close()
    return recorder.lines


def test_the_line_that_faults_is_named_and_what_a_library_does_belongs_to_its_caller(tmp_path: Path) -> None:
    lines = run_traced(tmp_path, PROGRAM)
    by_line = {line.line: line.faults for line in lines}
    assert (lines[0].file, lines[0].function, lines[0].line) == ("program.py", "copy", 5)
    assert by_line[5] >= 2048  # the first copy of 8 MiB; the allocator may keep it
    assert by_line[9] > 100  # parsed by the library
    assert {line.file for line in lines} == {"program.py"}


def test_nothing_stays_in_the_tree(tmp_path: Path) -> None:
    run_traced(tmp_path, PROGRAM)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.py"]


@pytest.mark.parametrize(
    ("end", "least"),
    [("raise SystemExit", 2_000), ("os._exit(0)", 2_000), ("os.kill(os.getpid(), 9)", 1_000)],
)
def test_the_lines_of_forked_processes_are_added_up_however_they_end(tmp_path: Path, end: str, least: int) -> None:
    source = (
        "import os\nkept = bytearray(8 << 20)\n"
        "for turn in range(3):\n    if os.fork() == 0:\n"
        "        for part in range(16):\n            bytearray(kept)[part]\n"
        f"        {end}\n    os.wait()\n"
    )
    by_line = {line.line: line for line in run_traced(tmp_path, source)}
    assert by_line[2].after_fork == 0
    assert by_line[6].faults == by_line[6].after_fork > 3 * least


def test_the_lines_of_a_pool_whose_workers_are_terminated_are_known(tmp_path: Path) -> None:
    source = (
        "from multiprocessing import get_context\ntable = [str(number) for number in range(100_000)]\n"
        "def count(start):\n    return sum(len(text) for text in table[start::2])\n"
        "if __name__ == '__main__':\n    with get_context('fork').Pool(2) as pool:\n"
        "        print(sum(pool.map(count, [0, 1])))\n"
    )
    after_fork = {(line.function, line.line): line.after_fork for line in run_traced(tmp_path, source)}
    assert after_fork["count", 4] > 200, "the counts of references are written to"


@pytest.mark.parametrize(
    "start",
    [
        "import subprocess, sys\nsubprocess.run([sys.executable, 'helper.py'], check=True)\n",
        "import runpy, multiprocessing as mp\nif __name__ == '__main__':\n    mp.set_start_method('spawn')\n"
        "    child = mp.Process(target=runpy.run_path, args=('helper.py',))\n    child.start()\n    child.join()\n",
    ],
)
def test_children_that_execute_python_do_not_replace_the_lines_of_the_program(
    tmp_path: Path, start: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "helper.py").write_text("helped = bytearray(8 << 20)\n")
    lines = run_traced(tmp_path, f"kept = bytearray(8 << 20)\n{start}")
    assert {line.file for line in lines} == {"program.py"}
    assert lines[0].faults > 2_000
    assert capfd.readouterr().err == ""


def test_a_program_that_executes_python_again_is_counted(tmp_path: Path) -> None:
    (tmp_path / "again.py").write_text("kept = bytearray(8 << 20)\n")
    lines = run_traced(tmp_path, "import os, sys\nos.execv(sys.executable, [sys.executable, 'again.py'])\n")
    assert lines[0].file == "again.py"


def test_what_a_line_touches_after_a_fork_is_told_from_what_was_touched_before(tmp_path: Path) -> None:
    source = (
        "import os\nkept = bytearray(8 << 20)\nif os.fork() == 0:\n    os._exit(0)\nos.wait()\nmore = bytes(9 << 20)\n"
    )
    by_line = {line.line: line for line in run_traced(tmp_path, source + "other = bytearray(more)\n")}
    assert by_line[2].faults > 2_000
    assert by_line[2].after_fork == 0
    assert by_line[7].faults == by_line[7].after_fork > 2_000


def test_a_module_that_the_environment_has_of_the_same_name_is_imported_too(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import os\nos.environ['OWN'] = 'imported'\n")
    (tmp_path / "program.py").write_text("import os\nassert os.environ['OWN'] == 'imported'\n")
    recorder = PythonLineRecorder(tmp_path)
    recorder.attach([])
    variables = recorder.add_variables({"PYTHONPATH": str(tmp_path / "own")})
    subprocess.run([sys.executable, "program.py"], cwd=tmp_path, env=variables, check=True, timeout=60)
    recorder.close()


def test_a_program_can_put_nothing_else_in_place_of_the_result(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "lines.1.json").write_text(json.dumps([["secret", "f", 1, 1, 0]]))
    source = "import shutil, os\nshutil.rmtree('.faultwatch-lines')\nos.symlink('secret', '.faultwatch-lines')\n"
    recorder = PythonLineRecorder(tmp_path)
    recorder.attach([])
    subprocess.run([sys.executable, "-S", "-c", source], cwd=tmp_path, check=True, timeout=60)
    recorder.close()
    assert recorder.lines == ()
    assert (tmp_path / "secret" / "lines.1.json").exists()


def test_a_line_in_a_file_whose_name_is_not_text_is_reported() -> None:
    (line,) = parse_lines([json.dumps([[os.fsdecode(b"/tree/caf\xe9.py"), "f", 1, 2, 0]]).encode()], "/tree/")
    assert line.file == r"caf\udce9.py"


@pytest.mark.parametrize(
    ("name", "is_python"),
    [("/usr/bin/python3.11", True), ("/usr/lib/libpython3.12.so.1.0", True), ("/srv/python-like", False)],
)
def test_a_python_program_is_known_by_its_interpreter(name: str, is_python: bool) -> None:
    assert executes_python([Path("/usr/bin/sh"), Path(name)]) is is_python


JSON = st.recursive(st.none() | st.integers() | st.text() | st.floats(), lambda part: st.lists(part, max_size=5))


@given(JSON.map(json.dumps).map(str.encode) | st.binary(max_size=100))
def test_no_result_breaks_the_parser(content: bytes) -> None:
    parse_lines([content, content], "/tree/")

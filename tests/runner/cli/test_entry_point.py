"""The command as a person meets it: processes, exit codes, one line for a mistake.

If the start is tested, or a terminal, the interpreter is started; elsewhere a process that has the imports forks.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.cli.entry_point import COMMANDS
from tests.preloaded import start
from tests.runner.commands import compiled_programs, served

ROOT = Path(__file__).parents[3]
Run = Callable[..., str]
Completed = subprocess.CompletedProcess[str]

WORKLOAD = """
[workload]
name = "script"
timeout = 5
samples = 2
[run]
command = {command}
output = "json"
"""
GOOD = """["sh", "-c", 'echo "{{\\"operations\\": 1, \\"seconds\\": 1}}"']"""


def faultwatch(*arguments: str, home: Path, **environment: str) -> Completed:
    """Run the command in a fork of a process that has its imports."""
    own = {"FAULTWATCH_HOME": str(home / "data"), "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    with tempfile.TemporaryDirectory() as folder:
        output, errors = (Path(folder, name) for name in ("output", "errors"))
        command = start(
            *("faultwatch", *arguments),
            variables=os.environ | own | environment,
            folder=home,
            output=output,
            errors=errors,
        )
        status = command.wait(120)
        texts = (file.read_text(errors="replace") for file in (output, errors))
        return subprocess.CompletedProcess(arguments, status, *texts)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_change_no_exit_code(closed: str, tmp_path: Path) -> None:
    variables = {**os.environ, "FAULTWATCH_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = ["sh", "-c", f'exec "$0" -m faultwatch workloads {closed}', sys.executable]
    done = subprocess.run(command, check=False, env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) == (">&-" not in closed.split())


def faultwatch_from_the_start(*arguments: str, home: Path, code: str = "") -> Completed:
    """Start the interpreter with the command, or with code that runs it."""
    return subprocess.run(
        [sys.executable, *(("-c", code) if code else ("-m", "runner")), *arguments],
        cwd=home,
        env=os.environ | {"FAULTWATCH_HOME": str(home / "data"), "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[None]:
    """Keep a test that measures from compiling the runner's own programs again."""
    with compiled_programs(tmp_path / "data"):
        yield


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service for tests that do not look at what it stores: each command would start one otherwise."""
    with served(tmp_path_factory.mktemp("service")) as proxy:
        yield proxy.service


@pytest.fixture
def subject(commit: Run, tmp_path: Path) -> str:
    for number in range(3):
        commit(f"Commit {number} \x1b[31mred", file=str(number))
    return str(tmp_path / "subject")


def workload(tmp_path: Path, command: str = GOOD) -> str:
    folder = tmp_path / "workload"
    folder.mkdir(exist_ok=True)
    (folder / "workload.toml").write_text(WORKLOAD.replace("{command}", command))
    return str(folder)


def assert_one_clear_line(done: Completed, said: str) -> None:
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.strip().splitlines() if "the remedy is --with" not in line]
    assert len(lines) <= 2, "what is wrong, and what to do"
    assert not done.stdout


def test_a_commit_where_none_is_taken_is_answered_with_its_form(tmp_path: Path) -> None:
    done = faultwatch("measure", "parser", "HEAD~1", home=tmp_path)
    assert done.returncode == 2
    assert "unexpected extra argument (HEAD~1)" in done.stderr
    assert "pass a commit with --revision; " in done.stderr.splitlines()[-1]
    assert "--revision" not in faultwatch("completion", "zsh", "HEAD~1", home=tmp_path).stderr


def test_help_lists_every_command(tmp_path: Path) -> None:
    done = faultwatch_from_the_start("--help", home=tmp_path)
    assert done.returncode == 0
    for name in COMMANDS:
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize("words", [(), ("job",)])
def test_a_command_alone_shows_what_there_is_to_choose_from(words: tuple[str, ...], tmp_path: Path) -> None:
    done = faultwatch(*words, home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == faultwatch(*words, "--help", home=tmp_path).stdout


EXPLAIN_EACH = """
import os, sys
import click, msgspec, pydantic, requests, rich
from runner.cli import main
for name in sys.argv[1:]:
    print(f"=== {name}", flush=True)
    if not os.fork():
        sys.argv[1:] = [name, "--help"]
        main()
        sys.exit()
    if status := os.waitstatus_to_exitcode(os.wait()[1]):
        sys.exit(f"{name} --help: exit code {status}")
"""
"""Each command imports what it needs in a process of its own, as where it is started."""


def test_every_command_explains_itself(tmp_path: Path) -> None:
    done = faultwatch_from_the_start(*sorted(COMMANDS), home=tmp_path, code=EXPLAIN_EACH)
    assert (done.returncode, done.stderr) == (0, "")
    explanations = [text.split("\n", 1) for text in done.stdout.split("=== ")[1:]]
    assert [name for name, _ in explanations] == sorted(COMMANDS)
    for name, text in explanations:
        assert text.startswith(f"Usage: faultwatch {name} ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["history", "--repo", "nowhere"], "nowhere: no such folder"),
        (["history", "{workload}", "HEAD..HEAD", "--repo", "{subject}"], "has no commits"),
        (["history", "{workload}", "nope..HEAD", "--repo", "{subject}"], "no commit 'nope'"),
        (["history", "--repo", "{subject}"], "has no workload.toml"),
        (["history", "--repo", "{subject}", "nowhere/x"], "no such workload file"),
        (["measure", "nosuch"], "no shipped workload has that name"),
        (["measure", "copy_service"], "copy_service does not build the repository that contains it"),
        (["measure", "cold_start", "--suite", "x.json"], "--suite accepts only one case, but 8 were chosen"),
        (["compare", "HEAD..HEAD", "--repo", "{subject}"], "has no workload.toml"),
        (
            ["bisect", "copy_service", "HEAD..HEAD", "--repo", "{subject}", "--metric", "minor-fault"],
            "copy_service has no metric 'minor-fault'\n  → did you mean 'minor-faults'?",
        ),
        (["measure", "{workload}", "--repo", "{subject}", "--env", "1"], "does not have the form NAME=VALUE"),
        (["measure", "{workload}", "--repo", "{subject}", "--env", "1=2"], "--env '1=2': '1' is not a valid name"),
        (["measure", "{workload}", "--repo", "{subject}", "--set", "x=1"], "no parameter 'x'"),
        (["measure", "{workload}", "--repo", "{subject}", "--case", "scripts"], "has no case 'scripts'"),
        (["measure", "{workload}", "--output", "/proc/x/y"], "/proc/x/y cannot be written"),
        (["gate", "..HEAD"], "'..HEAD' does not have the form A..B"),
        (["compare"], "faultwatch compare: Missing argument 'RANGE'"),
        (["bisect"], "Missing argument 'RANGE': write GOOD..BAD"),
        (["try", "copy_service"], "Missing option '--with'"),
        (["try", "copy_service", "--repo", "{subject}", "--with", "colour=1"], "--with colour: there is no such"),
        (["measure", "--frobnicate"], "No such option"),
    ],
)
def test_a_mistake_is_one_clear_line(arguments: list[str], said: str, subject: str, tmp_path: Path) -> None:
    places = {"{subject}": subject, "{workload}": workload(tmp_path)}
    done = faultwatch(*(places.get(argument, argument) for argument in arguments), home=tmp_path)
    assert_one_clear_line(done, said)
    assert not (tmp_path / "data" / "faultwatch.db").exists(), "nothing was started"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_command_with_all_that_it_started(number: signal.Signals, subject: str, tmp_path: Path) -> None:
    text = f"command = \"sh -c 'echo $$ >{tmp_path}/pid; exec sleep 1000'\""
    file = tmp_path / "slow.toml"
    file.write_text(f'[workload]\nname = "slow"\n[build]\n{text}\n[run]\ncommand = "true"\n')
    process = subprocess.Popen(
        # Under nohup, the tests and what they start would ignore SIGHUP.
        [
            "env",
            "--default-signal",
            sys.executable,
            "-m",
            "runner",
            "measure",
            str(file),
            "--repo",
            subject,
            "--committed-only",
        ],
        env=os.environ | {"FAULTWATCH_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    build = tmp_path / "pid"
    while not (build.exists() and build.read_text().strip()):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    process.send_signal(number)
    try:
        _, messages = process.communicate(timeout=60)
    finally:
        process.kill()  # the other tests would wait for its turn
    assert process.returncode == 128 + number
    assert messages.strip().splitlines()[-1] == "faultwatch: stopped; stored runs are kept"
    assert not Path("/proc", build.read_text().strip()).exists()
    assert not list((tmp_path / "home" / "builds").glob("*/*/tree"))


def test_a_misspelt_command_is_told_with_the_one_that_is_meant(tmp_path: Path) -> None:
    done = faultwatch("measre", home=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'measure'?" in done.stderr


def test_a_folder_that_cannot_be_written_is_told(subject: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a folder has to be")
    done = faultwatch_from_the_start("measure", workload(tmp_path), "--repo", subject, home=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"faultwatch: builds cannot be stored in {tmp_path}/data" in done.stderr
    assert "FAULTWATCH_HOME" in done.stderr


@pytest.mark.parametrize(("name", "said"), [("scrip", "did you mean 'script'?"), ("other", "its workloads: script")])
def test_a_misspelt_workload_is_told_with_those_of_the_repository(
    name: str, said: str, commit: Run, subject: str, tmp_path: Path
) -> None:
    commit("Describe the workload", **{"workload.toml": WORKLOAD.replace("{command}", GOOD)})
    assert_one_clear_line(faultwatch("measure", name, "--repo", subject, home=tmp_path), said)


@pytest.mark.parametrize("command", [("runner", "workloads"), ("service", "config")])
def test_an_error_of_faultwatch_is_not_the_answer_no(command: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import json\njson.dumps = lambda *_, **__: 1 / 0\n")
    done = subprocess.run(
        [sys.executable, "-m", *command, "--json"],
        env=os.environ | {"FAULTWATCH_HOME": str(tmp_path / "data"), "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == os.EX_SOFTWARE, done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr
    assert done.stderr.endswith("please report it, and include the lines above\n")


def test_uncommitted_changes_are_refused(subject: str, tmp_path: Path) -> None:
    Path(subject, "file").write_text("changed")
    done = faultwatch("history", "--repo", subject, workload(tmp_path), home=tmp_path)
    assert_one_clear_line(done, "uncommitted changes (file)")
    assert "--committed-only" in done.stderr


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
def test_a_result_is_printed_even_if_its_suite_cannot_be_written(subject: str, tmp_path: Path) -> None:
    folder = tmp_path / "suites"
    command = json.dumps(["sh", "-c", f'rm -rf {folder}; echo \'{{{{"operations": 1, "seconds": 1}}}}\''])
    suite = ("--suite", str(folder / "suite.json"))
    done = faultwatch("measure", workload(tmp_path, command), "--repo", subject, *suite, "--json", home=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"{folder}/suite.json cannot be written: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr
    (report,) = json.loads(done.stdout)
    assert report["outcome"] == "measured"


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
def test_a_changed_workload_file_is_no_uncommitted_change(
    subject: str, commit: Run, tmp_path: Path, shared_service: str
) -> None:
    """It says how commits are measured, so it is read as it is, and may be tried before it is committed."""
    file = Path(subject, "workload.toml")
    commit("Measure", **{"workload.toml": WORKLOAD.replace("{command}", "false")})
    file.write_text(WORKLOAD.replace("{command}", GOOD))
    done = faultwatch("measure", str(file), home=tmp_path, FAULTWATCH_URL=shared_service)
    assert done.returncode == 0, done.stderr
    Path(subject, "file").write_text("changed")
    done = faultwatch("measure", str(file), home=tmp_path, FAULTWATCH_URL=shared_service)
    assert_one_clear_line(done, "uncommitted changes (file)")


def test_a_taken_port_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = faultwatch("demo", "--serve", home=tmp_path, FAULTWATCH_PORT=port)
    assert_one_clear_line(done, f"port {port} cannot be used")
    assert not (tmp_path / "data").exists()


def test_a_service_that_is_not_there_is_told(subject: str, tmp_path: Path) -> None:
    done = faultwatch(
        *("history", "--repo", subject, workload(tmp_path)),
        home=tmp_path,
        FAULTWATCH_URL="http://127.0.0.1:1",
    )
    assert_one_clear_line(done, "the service at http://127.0.0.1:1 does not answer")


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('"./no-such-program"', "was not found"),
        ('["sh", "-c", "exit 3"]', "ended with exit code 3"),
        ('["sh", "-c", "kill -SEGV $$"]', "was terminated by SIGSEGV"),
        ('"sleep 60"', "did not finish within 5 s"),
        ("""["printf", '\\033[31m[bold]rubbish\\377']""", "must be a JSON object"),
    ],
)
def test_a_program_that_fails_is_told_with_an_exit_code(
    command: str, said: str, subject: str, tmp_path: Path, shared_service: str
) -> None:
    words = ("measure", workload(tmp_path, command), "--repo", subject)
    done = faultwatch(*words, home=tmp_path, FAULTWATCH_URL=shared_service)
    assert done.returncode == 1
    assert said in done.stdout.replace("\n", " ")
    assert "\x1b" not in done.stdout, "a terminal does not obey what a program printed"
    assert "Traceback" not in done.stderr


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
def test_a_history_is_stored_once_and_told_as_json(subject: str, tmp_path: Path) -> None:
    arguments = ("history", "--repo", subject, workload(tmp_path), "HEAD~2..HEAD", "--json")
    first = faultwatch(*arguments, home=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "\x1b" not in first.stderr, "titles are text, not commands to the terminal"
    document = json.loads(first.stdout)
    assert (document["measured"], document["stored"], document["failed"]) == (3, 0, [])
    again = json.loads(faultwatch(*arguments, home=tmp_path).stdout)
    assert (again["measured"], again["stored"]) == (0, 3)
    assert not list((tmp_path / "data" / "spool").iterdir())


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
def test_a_history_in_which_nothing_works_has_an_exit_code(subject: str, tmp_path: Path, shared_service: str) -> None:
    words = ("history", "--repo", subject, workload(tmp_path, '"./missing"'), "--json")
    done = faultwatch(*words, home=tmp_path, FAULTWATCH_URL=shared_service)
    assert done.returncode == 1
    assert {failure["stage"] for failure in json.loads(done.stdout)["failed"]} == {"run"}


def test_help_has_a_short_spelling_everywhere(tmp_path: Path) -> None:
    for words in (["-h"], ["measure", "-h"], ["job", "-h"], ["job", "run", "-h"]):
        done = faultwatch(*words, home=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: ")


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
def test_quiet_prints_the_result_alone(subject: str, tmp_path: Path, shared_service: str) -> None:
    words = ("history", "--repo", subject, workload(tmp_path), "--json", "--samples", "1")
    (tmp_path / "lock").touch()
    variables = {"FAULTWATCH_HOST_LOCK": str(tmp_path / "lock"), "FAULTWATCH_URL": shared_service}
    done = faultwatch(*words, "-q", home=tmp_path, **variables)
    assert done.stderr == ""
    assert json.loads(done.stdout)["revisions"] == 3


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
def test_verbose_shows_what_is_executed_and_output_is_what_json_prints(subject: str, tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    named = ("measure", workload(tmp_path, GOOD.replace("echo", ": hunter2hunter2; echo")), "--repo", subject)
    words = (*named, "--samples", "1", "--json", "--output", "result.json", "--verbose")
    variables = {"FAULTWATCH_HOST_LOCK": str(tmp_path / "lock"), "DEPLOY_TOKEN": "hunter2hunter2"}
    done = faultwatch(*words, home=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((tmp_path / "result.json").read_text())
    assert f"holding the lock {tmp_path}/lock" in done.stderr
    assert "+ perf stat -x" in done.stderr
    assert "+ sh -c ': (hidden); echo " in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.perf
@pytest.mark.usefixtures("programs")
def test_a_terminal_of_80_columns_without_colour_shows_everything(subject: str, tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    words = ("measure", workload(tmp_path), "--repo", subject, "--samples", "1")
    variables = {"FAULTWATCH_HOST_LOCK": str(tmp_path / "lock"), "NO_COLOR": "1", "TERM": "xterm-256color"}
    status, text = on_terminal(*words, home=tmp_path, **variables)
    assert status == 0, text
    assert not re.search(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]", text), "no colour"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert max(map(len, re.split(r"[\r\n]+", plain))) <= 80
    assert "minor-faults" in plain
    assert "…" not in plain, "nothing is cut off"


def on_terminal(*arguments: str, home: Path, **environment: str) -> tuple[int, str]:
    """Run the command on a terminal of 80 columns; return its exit code and all that it printed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    own = {"FAULTWATCH_HOME": str(home / "data"), "PYTHONPATH": str(ROOT)}
    kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [sys.executable, "-m", "runner", *arguments],
        cwd=home,
        env=kept | own | environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        data = b""
        # At the end of a terminal, Linux reports an error.
        with contextlib.suppress(OSError):
            while more := os.read(ours, 65_536):
                data += more
    os.close(ours)
    return process.returncode, data.decode()

from pathlib import Path

import pytest

from runner.execution.execute import OUTPUT_LIMIT, Finished, execute

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def run(script: str, tmp_path: Path, timeout: float = 10, merge: bool = False) -> Finished:
    return execute(["sh", "-c", script], directory=tmp_path, environment=ENVIRONMENT, timeout=timeout, merge=merge)


def test_keeps_the_streams_apart(tmp_path: Path) -> None:
    done = run("echo out; echo err >&2", tmp_path)
    assert (done.status, done.output, done.error, done.problem) == (0, "out\n", "err\n", "")


def test_merges_the_streams_on_request(tmp_path: Path) -> None:
    assert run("echo one; echo two >&2; echo three", tmp_path, merge=True).output == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("exit 3", "ended with exit code 3"),
        ("kill -SEGV $$", "was ended by SIGSEGV"),
        ("kill -36 $$", "was ended by SIGRTMIN+2"),
        ("true", ""),
    ],
)
def test_says_how_a_program_ended(script: str, trouble: str, tmp_path: Path) -> None:
    assert run(script, tmp_path).problem == trouble


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    done = run("(sleep 60; touch late) & echo before; sleep 60", tmp_path, timeout=0.4)
    assert done.status is None
    assert done.problem == "did not finish within 0.4 s"
    assert done.output == "before\n"
    assert done.seconds < 5
    assert not (tmp_path / "late").exists()


def test_does_not_wait_for_what_stays_in_the_background(tmp_path: Path) -> None:
    done = run("sleep 60 & echo started", tmp_path)
    assert done.output == "started\n"
    assert done.status == 0
    assert done.seconds < 5


def test_keeps_the_end_of_an_endless_output(tmp_path: Path) -> None:
    done = run("yes 0123456789 | head -c 5000000; echo the end", tmp_path)
    assert done.output.endswith("the end\n")
    assert len(done.output) == OUTPUT_LIMIT


def test_reads_what_is_not_text(tmp_path: Path) -> None:
    assert run(r"printf '\377\376ok'", tmp_path).output.endswith("ok")


def test_gives_no_standard_input(tmp_path: Path) -> None:
    assert run("cat; echo done", tmp_path).output == "done\n"

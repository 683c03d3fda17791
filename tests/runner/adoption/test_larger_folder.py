import shlex
import subprocess
from pathlib import Path

import pytest

from runner.adoption.larger_folder import (
    choose_folder,
    may_work_on_folder,
    propose_larger_folder,
    run_in_empty_folder,
    run_in_folder,
    starts_in_folder,
)
from runner.adoption.proposal import RunProposal, build_shell_command
from runner.adoption.tried_command import TriedCommand
from tests.runner.adoption.listings import listing

BARE = RunProposal("target/release/walk", may_do_nothing=True)


def make_files(**counts: int) -> dict[str, str]:
    return {f"{folder}/{number}.txt": "" for folder, count in counts.items() for number in range(count)}


def test_the_largest_folder_that_the_newest_commits_left_alone_is_copied() -> None:
    sources = listing({**make_files(src=50, tests=20, doc=10, few=4), ".github/a": "", "main.c": ""})
    assert choose_folder(sources, lambda _: 0) == ("src", 40)
    changed = listing(make_files(src=50, tests=20), changed=["src/1.txt"])
    assert choose_folder(changed, lambda _: 0) == ("tests", 100)
    assert choose_folder(listing(make_files(src=4)), lambda _: 0) is None


def test_copies_do_not_fill_the_disk() -> None:
    sources = listing(make_files(src=50))
    assert choose_folder(sources, lambda _: 100 << 10) == ("src", 6)
    assert choose_folder(sources, lambda _: 1 << 20) is None
    # The next folder is taken if the one with the most files is too large.
    two_folders = listing(make_files(assets=100, docs=50))
    assert choose_folder(two_folders, lambda file: 1 << 20 if file.startswith("assets/") else 10) == ("docs", 40)


@pytest.mark.parametrize(
    ("tried", "may_work"),
    [
        (TriedCommand(BARE, (70, 70)), True),
        (TriedCommand(BARE, (70, 70), prints_usage=True), False),
        (TriedCommand(BARE, (70, 70), cpu_seconds=3.0), False),
        (TriedCommand(RunProposal("target/release/walk --help", may_do_nothing=True), (70, 70)), False),
        (TriedCommand(RunProposal("python3 walk.py", may_do_nothing=True), (70, 70)), False),
        (TriedCommand(RunProposal("target/release/walk a.txt", input_file="a.txt"), (70, 70)), False),
    ],
)
def test_only_a_program_without_other_work_may_work_on_its_folder(tried: TriedCommand, *, may_work: bool) -> None:
    assert may_work_on_folder(tried) is may_work


def test_the_program_lists_the_files_of_the_copies_and_nothing_in_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for number in range(5):
        (tmp_path / f"src/{number}.txt").touch()
    program = tmp_path / "bin/walk"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nfind . -type f\n")
    program.chmod(0o755)

    def count_lines(command: str) -> int:
        done = subprocess.run(shlex.split(command), cwd=tmp_path, check=True, capture_output=True, text=True)
        return len(done.stdout.splitlines())

    bare = RunProposal("bin/walk", may_do_nothing=True)
    step, run, in_empty_folder = propose_larger_folder(bare, "src", 3)
    build_command = build_shell_command(step)
    assert (count_lines(build_command), count_lines(run.command)) == (0, 15)
    assert (count_lines(build_command), count_lines(run.command)) == (0, 15), "a build may be repeated in its tree"
    assert count_lines(in_empty_folder.command) == 0
    assert count_lines(run_in_empty_folder(bare).command) == 0
    assert starts_in_folder(run)
    assert not starts_in_folder(bare)
    assert (run_in_folder(bare, "src").program, run.may_do_nothing) == ("bin/walk", False)

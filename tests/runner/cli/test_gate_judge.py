"""The gate on real repositories whose head tries to choose its base or its judge."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.runner.commands import faultwatch, git

pytestmark = pytest.mark.perf

PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include "pages.h"
int main(int argc, char **argv) {
    long pages = PAGES;
    if (argc > 1) {
        if (!OPTION && argv[1][0] == '-') return 2;
        pages += argv[1][0] == '-' ? 9000 : atol(argv[1]) * SCALE;
    }
    char *p = malloc(pages * 4096 + 1);
    for (long i = 0; i < pages; i++) p[i * 4096] = 1;
    return 0;
}
"""
RUN = '[run]\ncommand = ["./prog"]\nhuge_pages = "never"\n'
BUILD = '[build]\ncommand = "cc -O0 -o prog prog.c"\n'
BASE = f'[workload]\nname = "w"\n{BUILD}{RUN}'
MATRIX = BASE.replace('["./prog"]', '["./prog", "{n}"]') + "[matrix]\nn = [1, 9]\n"
Commit = Callable[..., str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the runner's programs are built once."""
    return tmp_path_factory.mktemp("home") / "faultwatch"


@pytest.fixture
def subject(tmp_path: Path) -> Path:
    folder = tmp_path / "subject"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "prog.c").write_text(PROGRAM)
    return folder


def commit(folder: Path, workload: str | None = None, *, pages: int = 300, scale: int = 0, option: int = 0) -> str:
    if workload is not None:
        (folder / "workload.toml").write_text(workload)
    (folder / "pages.h").write_text(f"enum {{ PAGES = {pages}, SCALE = {scale}, OPTION = {option} }};\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "A commit")
    return git(folder, "rev-parse", "HEAD")


def gate(home: Path, url: str, folder: Path, commit_range: str, *words: str) -> tuple[int, dict[str, Any], str]:
    """Return the exit code of the gate, what it printed as JSON, and its messages."""
    home.mkdir(exist_ok=True)
    command = ("gate", *(words or ("workload.toml",)), commit_range, "--repo", ".", "--json", "-q")
    status, out, said = faultwatch(home, *command, url=url, cwd=folder, FAULTWATCH_HOST_LOCK=str(home))
    return status, json.loads(out) if out else {}, said


def levels(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the minor faults of base and head in whole hundreds by case: a program starts with some 50."""
    shown = {}
    for case in found["cases"]:
        point = case["head"]["case"]["parameters"].get("n", "")
        if case["comparison"]:
            judged = next(one for one in case["comparison"]["metrics"] if one["metric"] == "minor-faults")
            shown[point] = tuple(int(judged[side]["level"]) // 100 * 100 for side in ("base", "head"))
        else:
            shown[point] = tuple(case[side].get("failure") for side in ("base", "head"))
    return shown


def test_with_several_merge_bases_merging_is_measured(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, BASE, pages=1300)
    git(subject, "checkout", "--quiet", "-b", "mend")
    commit(subject)
    git(subject, "checkout", "--quiet", "-b", "docs", "main")
    (subject / "README").write_text("words\n")
    commit(subject, pages=1300)
    git(subject, "checkout", "--quiet", "main")
    for branch in ("mend", "docs"):
        git(subject, "merge", "--quiet", "--no-ff", "--message", "Merge", branch)
    git(subject, "checkout", "--quiet", "docs")
    git(subject, "merge", "--quiet", "--strategy", "ours", "--message", "Undo", "mend")
    (subject / "more").write_text("more\n")
    head = commit(subject, pages=1300)
    before = git(subject, "count-objects"), git(subject, "for-each-ref")
    status, found, said = gate(home, service_url, subject, "main..docs")
    assert (status, found["verdict"]) == (1, "regressed"), said
    assert levels(found) == {"": (300, 1300)}
    assert (found["head"], found["base"], len(found["merge_bases"])) == (head, git(subject, "rev-parse", "main"), 2)
    assert "the result of merging the branches was compared" in found["judge"]
    assert (git(subject, "count-objects"), git(subject, "for-each-ref")) == before


def test_head_does_not_change_its_judge_unseen(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, BASE + "[metrics.budget]\nminor-faults = 10\n")
    git(subject, "checkout", "--quiet", "-b", "change")
    keys = 'name = "w"\nmax_samples = 2\nunmeasured = "pass"\ntimeout = 0.001'
    judged = "[metrics]\nbudget = { minor-faults = 2000 }\nprecision = { minor-faults = 100 }\n"
    commit(subject, BASE.replace('name = "w"', keys) + judged, pages=1300)
    status, found, messages = gate(home, service_url, subject, "main..change")
    assert (status, found["verdict"], levels(found)) == (1, "regressed", {"": (300, 1300)}), messages
    for said in (
        "budget of minor-faults 10 → 2,000",
        "max_samples default → 2",
        "unmeasured fail → pass",
        "timeout 60 → 0.001",
        "precision of minor-faults none → 100 %",
    ):
        assert said in found["judge"]


def test_the_gate_says_what_its_counts_do_not_show(home: Path, service_url: str, subject: Path) -> None:
    caveat = "this watches the start of `./prog` alone"
    commit(subject, BASE.replace('name = "w"', f'name = "w"\ncaveat = "{caveat}"'))
    git(subject, "checkout", "--quiet", "-b", "change")
    commit(subject, pages=301)
    home.mkdir(exist_ok=True)
    command = ("gate", "workload.toml", "main..change", "--repo", ".", "-q", "--output", str(home / "gate.json"))
    _, out, said = faultwatch(home, *command, url=service_url, cwd=subject, FAULTWATCH_HOST_LOCK=str(home))
    assert f"caveat: {caveat}\n" in out, said
    (measured,) = json.loads((home / "gate.json").read_text())["cases"]
    assert caveat in measured["head"]["remarks"]


def test_head_does_not_measure_something_else_unseen(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, BASE)
    git(subject, "checkout", "--quiet", "-b", "change")
    commit(subject, BASE.replace('["./prog"]', '["true"]'), pages=1300)
    status, found, said = gate(home, service_url, subject, "main..change")
    assert (status, found["passed"]) == (1, False), said
    assert "[run] command ./prog → true" in found["judge"]


@pytest.mark.thorough
def test_a_harmless_head_that_changes_its_judge_needs_acceptance(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, BASE)
    git(subject, "checkout", "--quiet", "-b", "change")
    commit(subject, BASE.replace('name = "w"', 'name = "w"\nmax_samples = 2'))
    status, found, said = gate(home, service_url, subject, "main..change")
    assert (status, found["verdict"], found["passed"]) == (1, "undecided", False), said


@pytest.mark.thorough
def test_cases_that_head_removes_and_adds_are_measured(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, MATRIX)
    git(subject, "checkout", "--quiet", "-b", "change")
    commit(subject, MATRIX.replace("[1, 9]", "[1, 5]"), scale=100)
    status, found, said = gate(home, service_url, subject, "main..change")
    assert (status, found["verdict"]) == (1, "regressed"), said
    assert levels(found) == {1: (300, 400), 9: (300, 1200), 5: (300, 800)}
    assert "matrix loses n=9 and gains n=5" in found["judge"]


@pytest.mark.thorough
def test_added_cases_need_no_acceptance(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, MATRIX)
    git(subject, "checkout", "--quiet", "-b", "change")
    commit(subject, MATRIX.replace("[1, 9]", "[1, 5, 9]"))
    status, found, said = gate(home, service_url, subject, "main..change", "workload.toml", "--set", "n=1,5")
    assert (status, found["verdict"], set(levels(found))) == (0, "same", {1, 5}), said
    assert "matrix gains n=5" in found["judge"]


def test_an_option_that_only_head_knows_does_not_spare_head(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, BASE)
    git(subject, "checkout", "--quiet", "-b", "change")
    commit(subject, BASE.replace('["./prog"]', '["./prog", "--more"]'), option=1)
    status, found, said = gate(home, service_url, subject, "main..change")
    assert (status, found["verdict"]) == (1, "regressed"), said
    assert levels(found) == {"": (300, 9300)}
    assert "according to their own workload file" in found["judge"]
    assert "[run] command ./prog → ./prog --more" in found["judge"]


@pytest.mark.thorough
def test_a_workload_file_that_moves_does_not_hide_its_judge(home: Path, service_url: str, subject: Path) -> None:
    (subject / "perf").mkdir()
    (subject / "perf" / "workload.toml").write_text(BASE)
    commit(subject)
    git(subject, "checkout", "--quiet", "-b", "change")
    weak = BASE + "[metrics.budget]\nminor-faults = 2000\n"
    (subject / "w").mkdir()
    (subject / "w" / "workload.toml").write_text(weak.replace('"w"', '"other"'))
    commit(subject, pages=1300)
    status, found, said = gate(home, service_url, subject, "main..change", "w")
    assert (status, found["verdict"], found["judged_by"]) == (1, "regressed", "target"), said
    assert "budget of minor-faults 0 → 2,000" in found["judge"]


@pytest.mark.thorough
def test_the_tip_judges_a_branch_that_begins_before_it_had_a_file(home: Path, service_url: str, subject: Path) -> None:
    commit(subject)
    git(subject, "checkout", "--quiet", "-b", "change")
    weak = BASE + "[metrics.budget]\nminor-faults = 2000\n"
    commit(subject, weak, pages=1300)
    status, found, said = gate(home, service_url, subject, "main..change")
    assert (status, found["verdict"], found["judged_by"]) == (0, "changed", "head"), said
    assert "has no workload file yet" in found["judge"]
    git(subject, "checkout", "--quiet", "main")
    (subject / "workload.toml").write_text(BASE)
    commit(subject)
    git(subject, "checkout", "--quiet", "change")
    status, found, said = gate(home, service_url, subject, "main..change")
    assert (status, found["verdict"], found["judged_by"]) == (1, "regressed", "target"), said


def test_a_branch_that_begins_where_base_is_broken_does_not_pass(home: Path, service_url: str, subject: Path) -> None:
    good = PROGRAM
    (subject / "prog.c").write_text("broken")
    commit(subject, BASE)
    git(subject, "checkout", "--quiet", "-b", "change")
    git(subject, "checkout", "--quiet", "main")
    (subject / "prog.c").write_text(good)
    commit(subject)
    git(subject, "checkout", "--quiet", "change")
    (subject / "prog.c").write_text(good)
    commit(subject, pages=9300)
    status, found, said = gate(home, service_url, subject, "main..change")
    assert (status, found["verdict"], found["passed"]) == (1, "undecided", False), said


def test_ends_that_cannot_be_compared_are_refused(home: Path, service_url: str, subject: Path) -> None:
    commit(subject, BASE)
    git(subject, "checkout", "--quiet", "-b", "change")
    commit(subject, pages=400)
    for commit_range in ("change..main", "change..change"):
        status, _, said = gate(home, service_url, subject, commit_range)
        assert status == 2, said
        assert "so there is nothing to compare" in said

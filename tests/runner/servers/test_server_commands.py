"""What the commands do with a server: every user, confined or not, from a measurement to the guilty commit."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.profile.permissions import detect_recording_permissions
from tests.ordinary_user import as_ordinary
from tests.runner.commands import command_line, compiled_programs, faultwatch, variables
from tests.runner.servers.repository import UNMAPPED, make_server_history

pytestmark = pytest.mark.perf
ONE, TWO = UNMAPPED.format(pages=1), UNMAPPED.format(pages=2)
USERS = ["ordinary", *(["root"] if os.geteuid() == 0 else [])]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an ordinary user may enter."""
    with tempfile.TemporaryDirectory(prefix="faultwatch-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "lock").touch()
        yield folder


def run_command(folder: Path, *words: str, user: str = "root", status: int = 0) -> str:
    """Run a command in the repository; return what it printed."""
    more = {"FAULTWATCH_HOST_LOCK": str(folder / "lock"), "HOME": str(folder)}
    if user == "root" or os.geteuid():
        code, output, errors = faultwatch(folder / "home", *words, cwd=folder / "repo", **more)
    else:
        with compiled_programs(folder / "home"):
            done = subprocess.run(
                as_ordinary(command_line(*words), folder),
                check=False,
                capture_output=True,
                text=True,
                cwd=folder / "repo",
                env=variables(folder / "home", **more),
            )
        code, output, errors = done.returncode, done.stdout, done.stderr
    assert code == status, output + errors
    return output


@pytest.mark.thorough
@pytest.mark.parametrize("sandboxed", [False, True], ids=["open", "sandboxed"])
@pytest.mark.parametrize("user", USERS)
def test_every_user_measures_compares_and_gates(folder: Path, user: str, sandboxed: bool) -> None:
    base, head = make_server_history(folder / "repo", [ONE, TWO], windows=2)
    sandbox = "--sandbox" if sandboxed else "--no-sandbox"
    (report,) = json.loads(run_command(folder, "measure", sandbox, "--json", user=user))
    assert report["outcome"] == "measured", report
    for sample in report["samples"]:
        assert [window["readings"]["minor-faults"]["value"] for window in sample["windows"]][1:] == [200, 200]
    # Two pairs are too few to be sure, but enough to see what is counted.
    words = (sandbox, "--samples", "2", f"{base}..{head}")
    for command in ("compare", "gate"):
        assert re.search(r"minor-faults +200 +400 +\+200 \(\+100 %\)", run_command(folder, command, *words, user=user))


@pytest.mark.thorough
def test_one_page_for_each_request_does_not_pass_a_gate(folder: Path) -> None:
    base, head = make_server_history(folder / "repo", [ONE, TWO], requests=50)
    regressed = run_command(folder, "gate", f"{base}..{head}", status=1)
    assert re.search(r"minor-faults +50 +100 +\+50 \(\+100 %\) +worse", regressed)
    assert regressed.rstrip().endswith("gate: regressed")


@pytest.mark.thorough
def test_a_commit_of_documents_passes_a_gate(folder: Path) -> None:
    base, head = make_server_history(folder / "repo", [ONE, ONE], requests=50)
    assert run_command(folder, "gate", "--no-sandbox", f"{base}..{head}").rstrip().endswith("gate: same")


@pytest.mark.thorough
def test_a_bisect_finds_the_commit_that_touches_a_page_more(folder: Path) -> None:
    commits = make_server_history(folder / "repo", [ONE] * 6 + [TWO] * 4, requests=50)
    found = run_command(folder, "bisect", f"{commits[0]}..{commits[-1]}")
    assert f"{commits[6][:10]} 'Commit 6'" in found
    assert "50 faults at" in found
    assert "proven: The count repeats on each side" in found
    # The same range by its history.
    history = run_command(folder, "history", f"{commits[0]}..{commits[-1]}")
    assert f"commit  {commits[6][:10]} Commit 6" in history
    assert history.count("regression") == 1


@pytest.mark.parametrize(
    ("remedy", "after"),
    [
        ("pages=1", 50),
        *(
            pytest.param(remedy, 150, marks=pytest.mark.thorough)
            for remedy in ("allocator=jemalloc", "thp=always", "env.TOUCHES_=1")
        ),
    ],
)
def test_a_remedy_reaches_a_server(folder: Path, remedy: str, after: int) -> None:
    if remedy == "thp=always" and os.geteuid():
        pytest.skip("needs root")
    make_server_history(folder / "repo", [UNMAPPED.format(pages="touched")], requests=50)
    file = folder / "repo" / "workload.toml"
    file.write_text(file.read_text().replace('{port}"\n[load]', '{port} {pages}"\n[load]') + "[matrix]\npages = [3]\n")
    document = json.loads(run_command(folder, "try", "--with", remedy, "--samples", "2", "--json"))
    (metric,) = [metric for metric in document["comparison"]["metrics"] if metric["metric"] == "minor-faults"]
    assert metric["change"] == after - 150


STILL = {
    "unmapped": (UNMAPPED.format(pages=4), "still 4.0 faults per operation after 4 windows", "temporary-buffers"),
    "advised": (
        "static char *pages; if (!pages) pages = map(4);"
        "memset(pages, 1, 4 * 4096); madvise(pages, 4 * 4096, MADV_DONTNEED);",
        "still 4.0 faults per operation after 4 windows",
        "returned-memory",
    ),
    "trimmed": (
        "static char *blocks[16]; for (int i = 0; i < 16; i++) memset(blocks[i] = malloc(16000), 1, 16000);"
        "for (int i = 0; i < 16; i++) free(blocks[i]); malloc_trim(0);",
        "still 62.0 faults per operation after 4 windows",
        "temporary-buffers",
    ),
    "kept": ("static char *last; last = map(4); memset(last, 1, 16384);", "its heap keeps growing", ""),
}


@pytest.mark.thorough
@pytest.mark.parametrize("way", STILL)
def test_a_server_that_still_faults_is_told_and_its_windows_name_the_cause(folder: Path, way: str) -> None:
    body, sentence, rule = STILL[way]
    make_server_history(folder / "repo", [body], requests=200, windows=3)
    assert sentence in run_command(folder, "measure", "--samples", "1")
    if detect_recording_permissions().tracepoints:
        findings = json.loads(run_command(folder, "profile", "--no-upload", "--json"))["diagnosis"]["findings"]
        assert [finding["rule"] for finding in findings][:1] == ([rule] if rule else [])

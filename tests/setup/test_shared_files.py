"""The files that a wheel has in share/: manual pages, and what completes the commands."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runner.cli.entry_point import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared") / "share"
    script = ROOT / "setup" / "shared_files.py"
    subprocess.run([sys.executable, str(script), str(folder), "1.2.3", "2026-01-02"], check=True)
    return folder


def test_every_command_has_a_manual_page_with_its_options(share: Path) -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (share / "man" / "man1").iterdir()}
    assert {"faultwatch", "faultwatch-service", "faultwatch-job-run", "faultwatch-service-token-new"} <= set(pages)
    assert {f"faultwatch-{name}" for name in COMMANDS} <= set(pages)
    measure = pages["faultwatch-measure"]
    assert r"faultwatch\-measure \- Measure a workload at one revision." in measure
    assert '"2026-01-02" "1.2.3"' in measure
    assert r"\fB\-\-output\fP FILE" in measure


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_a_manual_page_can_be_read(share: Path) -> None:
    page = share / "man" / "man1" / "faultwatch-gate.1"
    done = subprocess.run(
        ["man", "--warnings", "--local-file", str(page)],
        env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    text = " ".join(done.stdout.split())
    assert "faultwatch-gate - Compare the head of a pull request" in text
    assert "--junit FILE" in text


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("faultwatch mea", {"measure"}),
        ("faultwatch measure copy", {"copy_server", "copy_service"}),
        ("faultwatch compare copy_service v1.0..ma", {"v1.0..main"}),
        ("faultwatch-service ret", {"retain"}),
    ],
)
def test_bash_completes_what_is_typed(line: str, offered: set[str], share: Path, tmp_path: Path) -> None:
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@localhost")
    for words in (("init", "-qb", "main"), ("commit", "-qm", "One", "--allow-empty"), ("tag", "v1.0")):
        subprocess.run([*git, *words], check=True)
    program, *typed = line.split()
    script = share / "bash-completion" / "completions" / program
    function = f"_{program.replace('-', '_')}_completion"
    quoted = " ".join(f"'{word}'" for word in (program, *typed))
    steps = f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(typed)}; {function} {program}"
    done = subprocess.run(
        ["bash", "-c", f'{steps}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == offered, done.stderr

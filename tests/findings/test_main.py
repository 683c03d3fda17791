"""A project is stored and repeated with the real command, from a clone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import findings.__main__
from findings import pictures, stored
from tests.runner.commands import compiled_programs

pytestmark = pytest.mark.perf

_PROGRAM = (
    "#include <string.h>\nstatic char pages[{pages} << 12];\nint main(void) {{ memset(pages, 1, sizeof pages); }}\n"
)
_WORKLOAD = """[workload]
name = "pages"

[build]
command = "gcc -O0 -o pages pages.c"
needs = ["gcc"]

[run]
command = "./pages"
huge_pages = "never"
"""


@pytest.fixture
def project(tmp_path: Path, commit: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """A project with one commit that moves the faults and one that changes a document; returns the command."""
    first = commit("Begin", pages__c=_PROGRAM.format(pages=1000))
    for number in range(3):
        commit(
            f"Say more, {number}", README__md=f"{number}\n", pages__c=_PROGRAM.format(pages=1000) + "\n" * (number + 1)
        )
    commit("Document it", **{"README__md": "A document.\n", 'Über "uns"__md': "Another one.\n"})
    commit("Use more pages", pages__c=_PROGRAM.format(pages=1100))
    commit("Document more", README__md="A longer document.\n")
    folder = tmp_path / "findings" / "pages"
    folder.mkdir(parents=True)
    (folder / "workload.toml").write_text(_WORKLOAD)
    (tmp_path / "findings" / "drifts").mkdir()
    (tmp_path / "findings" / "drifts" / "pages.json").write_text(
        f'{{"address": "https://example.org/pages", "range": "{first}..main"}}'
    )
    monkeypatch.setattr(stored, "FOLDER", tmp_path / "findings")
    monkeypatch.setattr(findings.__main__, "ROOT", tmp_path)
    return lambda *words: findings.__main__.main(["pages", str(tmp_path / "subject"), *words])


@pytest.mark.thorough
def test_what_is_stored_is_found_again(
    project: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with compiled_programs(tmp_path / "build" / "findings" / "pages" / "home"):
        assert project("--store") == 0
    assert (tmp_path / "docs" / "images" / "findings" / "pages.png").read_bytes().startswith(b"\x89PNG")
    history = stored.load("pages")
    (drift,) = history.drifts
    assert (drift.subject, drift.change) == ("Use more pages", 100)
    (culprit,) = drift.culprits
    assert (culprit.commit, culprit.subject, culprit.proven) == (drift.commit, "Use more pages", True)
    assert culprit.by_hand
    assert len(culprit.by_hand.before) == len(culprit.by_hand.after) == 5
    assert (history.documents.commits, history.documents.flagged) == (2, 0)
    assert (history.counts.revisions, history.counts.failed) == (6, 0)
    assert history.machine.compiler.startswith("gcc ")
    assert history.machine.path_length in range(128, 4096, 64)

    capsys.readouterr()
    repeated: list[stored.History] = []
    measure = findings.__main__._measure_history

    def keep_measured(*arguments: Any) -> stored.History:
        repeated.append(measure(*arguments))
        return repeated[-1]

    monkeypatch.setattr(findings.__main__, "_measure_history", keep_measured)
    assert project() == 0
    assert (tmp_path / "build" / "findings" / "pages" / "charts" / "pages.png").exists()
    assert "1 drifts: all agree." in capsys.readouterr().out

    # The same measurement disagrees with another stored one.
    monkeypatch.setattr(findings.__main__, "_measure_history", lambda *_: repeated[-1])
    monkeypatch.setattr(pictures, "save", lambda *_: [])
    stored.save("pages", replace(history, drifts=(replace(drift, after=drift.after + 1),)))
    assert project() == 1
    output = capsys.readouterr().out
    assert "other size" in output
    assert "1 drifts: 1 disagree." in output


def test_what_was_never_measured_is_not_compared(
    project: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        project()
    assert ended.value.code == 2
    assert "nothing is stored of pages to compare with: measure it with --store" in capsys.readouterr().err
    assert not (tmp_path / "build").exists(), "nothing is measured first"

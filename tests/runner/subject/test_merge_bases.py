import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.subject.merge_bases import prepare_gate_ends
from runner.subject.repository import Repository, open_repository

Run = Callable[..., str]


@pytest.fixture
def repository(commit: Run, tmp_path: Path) -> Repository:
    commit("First", file="slow\n" * 5)
    return open_repository(str(tmp_path / "subject"), tmp_path)


@pytest.fixture
def criss_cross(repository: Repository, commit: Run, git: Run) -> Repository:
    """Main has both branches; the author of `docs` has merged `mend` into it, and dropped the mend."""
    git("checkout", "--quiet", "-b", "mend")
    commit("Mend", file="fast\n" * 5)
    git("checkout", "--quiet", "-b", "docs", "main")
    commit("Documents", readme="words")
    git("checkout", "--quiet", "main")
    for branch in ("mend", "docs"):
        git("merge", "--quiet", "--no-ff", "--message", "Merge", branch)
    git("checkout", "--quiet", "docs")
    git("merge", "--quiet", "--strategy", "ours", "--message", "Undo", "mend")
    return repository


def test_head_is_compared_with_the_only_merge_base(repository: Repository, commit: Run, git: Run) -> None:
    parted = git("rev-parse", "HEAD").strip()
    git("checkout", "--quiet", "-b", "side")
    head = commit("Side", other="x")
    git("checkout", "--quiet", "main")
    target = commit("Main", another="x")
    with prepare_gate_ends(repository, "main", "side") as ends:
        assert (ends.base, ends.measured_commit, ends.head, ends.target) == (parted, head, head, target)
        assert not ends.is_merge
        assert ends.repository is repository


def test_with_several_merge_bases_the_merge_is_compared_with_the_tip(
    criss_cross: Repository, commit: Run, git: Run, tmp_path: Path
) -> None:
    head = commit("More", more="x")
    target = git("rev-parse", "main").strip()
    before = git("count-objects", "-v"), git("for-each-ref"), git("status", "--porcelain")
    with prepare_gate_ends(criss_cross, "main", "docs") as ends:
        assert ends.is_merge
        assert (ends.base, ends.head, ends.target) == (target, head, target)
        assert len(ends.merge_bases) == 2
        assert ends.repository.get_revision(ends.measured_commit).parents == (target, head)
        ends.repository.export(ends.measured_commit, tmp_path / "tree")
        assert (tmp_path / "tree" / "file").read_text() == "slow\n" * 5
        assert (tmp_path / "tree" / "more").exists()
        again = ends.measured_commit
    with prepare_gate_ends(criss_cross, "main", "docs") as ends:
        assert ends.measured_commit == again, "the merge has another name each time, so its build is never found again"
    assert (git("count-objects", "-v"), git("for-each-ref"), git("status", "--porcelain")) == before


def test_no_attribute_or_driver_chooses_how_the_merge_is_made(
    criss_cross: Repository, commit: Run, git: Run, tmp_path: Path
) -> None:
    git("config", "merge.pwn.driver", f"touch {tmp_path}/pwned; exit 1")
    git("config", "merge.default", "pwn")
    commit("Attributes", **{".gitattributes": "new merge=pwn\n"}, new="ours\n")
    git("checkout", "--quiet", "main")
    commit("Theirs", new="theirs\n")
    git("checkout", "--quiet", "docs")
    with pytest.raises(FaultwatchError, match="conflict in new"), prepare_gate_ends(criss_cross, "main", "docs"):
        pass
    assert not (tmp_path / "pwned").exists()


def test_a_merge_with_conflicts_is_refused(criss_cross: Repository, commit: Run, git: Run) -> None:
    commit("Ours", new="ours\n")
    git("checkout", "--quiet", "main")
    commit("Theirs", new="theirs\n")
    with (
        pytest.raises(FaultwatchError, match=r"2 merge bases.*conflict in new") as caught,
        prepare_gate_ends(criss_cross, "main", "docs"),
    ):
        pass
    assert caught.value.remedy == "merge main into docs, so that there is one merge base"


def test_an_old_git_is_refused(criss_cross: Repository, commit: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    commit("More", more="x")
    usage = subprocess.CompletedProcess([], 129, b"", b"usage: git merge-tree <base-tree> <branch1> <branch2>")
    monkeypatch.setattr("runner.subject.merge_bases.execute_git", lambda *_: usage)
    with pytest.raises(FaultwatchError, match=r"needs git 2\.38"), prepare_gate_ends(criss_cross, "main", "docs"):
        pass


@pytest.mark.parametrize("span", [("main", "main"), ("side", "main"), ("main", "old")])
def test_a_head_that_base_has_already_is_refused(
    repository: Repository, commit: Run, git: Run, span: tuple[str, str]
) -> None:
    git("tag", "old")
    commit("Second", file="2")
    git("checkout", "--quiet", "-b", "side")
    commit("Third", file="3")
    with (
        pytest.raises(FaultwatchError, match=r"is already contained in .*, so there is nothing to compare"),
        prepare_gate_ends(repository, *span),
    ):
        pass


def test_unrelated_histories_are_refused(repository: Repository, commit: Run, git: Run) -> None:
    git("checkout", "--quiet", "--orphan", "elsewhere")
    commit("Another beginning", file="other")
    with pytest.raises(FaultwatchError, match="no common ancestor"), prepare_gate_ends(repository, "main", "elsewhere"):
        pass


def test_a_shallow_clone_that_may_lack_the_merge_base_is_refused(
    repository: Repository, commit: Run, git: Run, tmp_path: Path
) -> None:
    """The clone ends at commits that main alone has: what lies behind them may be an ancestor of both."""
    git("checkout", "--quiet", "-b", "side")
    commit("Side", other="x")
    git("checkout", "--quiet", "main")
    for number in range(4):
        commit(f"Main {number}", another=str(number))
    address = f"file://{tmp_path / 'subject'}"
    for depth, fits in ((2, False), (6, True)):
        clone = tmp_path / f"clone-{depth}"
        subprocess.run(
            ["git", "clone", "--quiet", f"--depth={depth}", "--no-single-branch", address, str(clone)], check=True
        )
        shallow = open_repository(str(clone), tmp_path)
        if fits:
            with prepare_gate_ends(shallow, "origin/main", "origin/side") as ends:
                assert ends.base == git("merge-base", "main", "side").strip()
            continue
        with pytest.raises(FaultwatchError) as caught, prepare_gate_ends(shallow, "origin/main", "origin/side"):
            pass
        assert "fetch-depth: 0" in caught.value.remedy

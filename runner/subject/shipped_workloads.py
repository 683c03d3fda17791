"""Provides the shipped workloads as a repository if Faultwatch was installed from a wheel: a run needs a commit.

The commit depends only on the files' content and the date of their last change, so all hosts with the same version
create the same commit. A later version becomes the next commit.
"""

from pathlib import Path

from runner.subject.hardened_git import Checkout, GitError, run_git
from runner.subject.repository import Repository
from runner.system.durable_files import rename_folder_durably
from runner.system.scratch import make_scratch_folder

_REPOSITORY_NAME = "workloads"
_BRANCH = "refs/heads/main"
_DATE_FILE = ".date"
"""The file, beside the workloads, in which the build of a wheel records the date of their last change."""


def prepare_shipped_repository(workloads: Path, home: Path) -> Repository | None:
    """Return a repository whose newest commit is a folder of shipped workloads; None in a clone of Faultwatch.

    Raises
    ------
    FaultwatchError
        git fails; the message contains its error.
    """
    date_file = workloads / _DATE_FILE
    if not date_file.exists():
        return None
    git_dir = home / f"{_REPOSITORY_NAME}.git"
    if not git_dir.exists():
        home.mkdir(parents=True, exist_ok=True)
        with make_scratch_folder(home) as scratch:
            run_git("init", "--quiet", "--bare", "--initial-branch=main", str(scratch / "new"))
            try:
                rename_folder_durably(scratch / "new", git_dir)
            except OSError:
                if not git_dir.exists():  # Otherwise another command has created it in the meantime.
                    raise
    with make_scratch_folder(home) as scratch:
        _commit_files(git_dir, Checkout(workloads, scratch / "index"), date_file.read_text(encoding="ascii").strip())
    return Repository(git_dir, _REPOSITORY_NAME, bare=True)


def _commit_files(git_dir: Path, checkout: Checkout, date: str) -> None:
    """Commit the files, unless the newest commit contains the same files."""

    def git(*arguments: str, **variables: str) -> str:
        return run_git(*arguments, git_dir=str(git_dir), checkout=checkout, variables=variables).strip()

    # Leave out the bytecode that Python stores in the installation folder.
    git("-C", str(checkout.tree), "add", "--all", "--force", "--", ".", ":(exclude,glob)**/__pycache__/**")
    tree = git("write-tree")
    try:
        parents = [git("rev-parse", "--verify", "--quiet", _BRANCH)]
    except GitError:
        parents = []
    if parents and git("rev-parse", f"{parents[0]}^{{tree}}") == tree:
        return
    author = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", "Faultwatch"), ("EMAIL", "faultwatch@localhost"), ("DATE", f"@{date} +0000"))
    }
    parent_options = [word for parent in parents for word in ("-p", parent)]
    commit = git("commit-tree", *parent_options, "-m", "The shipped workloads", tree, **author)
    try:
        git("update-ref", _BRANCH, commit, *parents)  # With a parent, only if the branch still points to it.
    except GitError:
        if git("rev-parse", "--verify", "--quiet", _BRANCH) != commit:  # Otherwise another command was faster.
            raise

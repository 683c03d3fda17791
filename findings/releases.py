"""Makes a history of releases: one commit for each of them, of a tag of a project or of a published package.

The author and the dates are fixed, so the same files give the same commits on every machine.
"""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from findings.repository import git

_FIRST = datetime(2020, 1, 1, tzinfo=UTC)


def chain(repository: Path, releases: Sequence[str]) -> None:
    """Commit the files of each tag of a clone as the successor of the one before."""
    _commit(repository, releases, [f"{release}^{{tree}}" for release in releases])


def pack(script: Path, repository: Path, releases: Sequence[str]) -> None:
    """Have a script fetch each release into an empty folder, and commit what is there after it."""
    if not repository.exists():
        subprocess.run(["git", "init", "--quiet", "--initial-branch", "main", str(repository)], check=True)
    _commit(repository, releases, [_fetch(script, repository, release) for release in releases])
    # Otherwise the work tree would differ from its commit, which a history refuses.
    git(repository, "checkout", "--quiet", "--force", "-B", "main", branch_of(releases[-1]))


def branch_of(release: str) -> str:
    """Return the branch that ends with a release; a project has tags of the same names."""
    return f"release/{release}"


def span_of(releases: Sequence[str]) -> str:
    """Return the range that has all releases."""
    return f"{branch_of(releases[0])}..{branch_of(releases[-1])}"


def _fetch(script: Path, repository: Path, release: str) -> str:
    """Return the tree of a release."""
    branch = branch_of(release)
    known = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "--verify", "--quiet", branch], check=False, capture_output=True
    )
    if known.returncode == 0:
        return f"{branch}^{{tree}}"
    print(f"fetching {release}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["sh", str(script.resolve()), release], cwd=folder, check=True)
        # --force: a package may have a .gitignore of its own.
        git(repository, f"--work-tree={folder}", "add", "--all", "--force", ".")
    return git(repository, "write-tree").strip()


def _commit(repository: Path, releases: Sequence[str], trees: Sequence[str]) -> None:
    parents: tuple[str, ...] = ()
    for number, (release, tree) in enumerate(zip(releases, trees, strict=True)):
        date = (_FIRST + timedelta(days=number)).isoformat()
        people = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", "Faultwatch"), ("EMAIL", "findings@example.org"), ("DATE", date))
        }
        words = ["git", "-C", str(repository), "commit-tree", tree, *parents, "-m", release]
        result = subprocess.run(words, env={**os.environ, **people}, check=True, capture_output=True, text=True)
        git(repository, "update-ref", f"refs/heads/{branch_of(release)}", result.stdout.strip())
        parents = ("-p", result.stdout.strip())

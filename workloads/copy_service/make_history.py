"""Make the demo's git repository from the patches in ``history/``.

Dates, authors and texts are fixed, so the commits have the same hashes wherever and whenever this runs::

    python workloads/copy_service/make_history.py DIRECTORY
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PATCHES = tuple(sorted((Path(__file__).parent / "history").glob("*.patch")))
CONFIG_CHANGE = 12
"""Number of commits after which the demo switches the allocator. The tag ``config-change`` marks this commit."""

_STAMP = "faultwatch-history"


def make_history(directory: Path) -> None:
    """Make the repository, unless it already exists.

    A repository that an older version of this script made is replaced.

    Raises
    ------
    FileExistsError
        If the directory contains anything else.
    """
    wanted = _fingerprint()
    stamp = directory / ".git" / _STAMP
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    if directory.exists() and not stamp.is_file() and any(directory.iterdir()):
        raise FileExistsError(f"{directory} is not a history that this script made: name another directory")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as temporary:
        # Made in a temporary directory and then renamed, so that an interruption leaves nothing half-written.
        made = Path(temporary) / "made"
        _apply(made)
        (made / ".git" / _STAMP).write_text(wanted)
        if directory.exists():
            directory.rename(Path(temporary) / "replaced")
        made.rename(directory)


def _fingerprint() -> str:
    digest = hashlib.sha256(str(CONFIG_CHANGE).encode())
    for patch in PATCHES:
        digest.update(patch.read_bytes())
    return digest.hexdigest()


def _apply(directory: Path) -> None:
    _git(directory.parent, "init", "--quiet", "--template=", "--initial-branch=main", directory.name)
    _am(directory, PATCHES[:CONFIG_CHANGE])
    _git(directory, "tag", "config-change")
    _am(directory, PATCHES[CONFIG_CHANGE:])


def _am(directory: Path, patches: tuple[Path, ...]) -> None:
    _git(directory, "am", "--quiet", "--committer-date-is-author-date", *(str(patch.resolve()) for patch in patches))


def _git(directory: Path, *arguments: str) -> None:
    # The user's own git settings (signing, hooks, line endings, hash function) would change the commits.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    fixed = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_COMMITTER_NAME": "Demo Author",
        "GIT_COMMITTER_EMAIL": "demo@example.invalid",
        "GIT_DEFAULT_HASH": "sha1",
        "LC_ALL": "C",
    }
    done = subprocess.run(
        ["git", *arguments], cwd=directory, env=kept | fixed, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"git {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}")


def main() -> int:
    """Make the history in the directory that the command line names."""
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print("usage: make_history.py DIRECTORY", file=sys.stderr)
        return 2
    if shutil.which("git") is None:
        print("git is not installed: the demo's history is a git repository", file=sys.stderr)
        return 1
    try:
        make_history(Path(sys.argv[1]))
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Keeps the clone of a project from one repetition to the next."""

import shutil
import subprocess
from pathlib import Path


def git(repository: Path, *words: str) -> str:
    """Return what git prints."""
    result = subprocess.run(["git", "-C", str(repository), *words], check=True, capture_output=True)
    return result.stdout.decode(errors="replace")  # Names of files can have bytes of any encoding.


def clone(source: str, span: str, folder: Path) -> None:
    """Clone a repository into a folder; if that was done before, fetch what a range needs.

    Raises
    ------
    SystemExit
        The folder has another repository.
    """
    if not folder.exists():
        _make(source, folder)
    elif (origin := _origin(folder)) != _place(source):
        raise SystemExit(f"{folder} is no clone of {source} but of {origin}: remove {folder.parent} to begin again")
    elif not _has(folder, span):
        print(f"fetching from {source}", flush=True)
        # A tag that was moved would be refused.
        subprocess.run(["git", "-C", str(folder), "fetch", "--quiet", "--tags", "--force"], check=True)


def _make(source: str, folder: Path) -> None:
    print(f"cloning {source}", flush=True)
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of one that was killed
    subprocess.run(["git", "clone", "--quiet", source, str(part)], check=True)
    part.rename(folder)


def _origin(folder: Path) -> str:
    # By its file: in a folder that is no repository, git would answer of one above.
    words = ["git", "config", "--file", str(folder / ".git" / "config"), "--get", "remote.origin.url"]
    result = subprocess.run(words, check=False, capture_output=True, text=True)
    return _place(result.stdout.strip()) if result.stdout else "nothing"


def _place(source: str) -> str:
    """Return an address, or the one path of a local repository."""
    return str(Path(source).resolve()) if Path(source).exists() else source


def _has(folder: Path, span: str) -> bool:
    words = ["git", "-C", str(folder), "rev-list", "--max-count=1", span, "--"]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0

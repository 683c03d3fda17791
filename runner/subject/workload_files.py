"""Lists the workload files of a repository."""

from pathlib import Path

from runner.errors import FaultwatchError
from runner.subject.repository import Repository
from runner.workload import WORKLOAD_FILE

_MAX_WORKLOAD_FILES = 100
"""The largest number of files that are returned."""


def list_workload_files(repository: Repository) -> list[Path]:
    """Return the workload files in a work tree that git does not ignore: first that at the top, then others by path.

    A clone in the cache has no work tree, and therefore no such files.
    """
    options = ("--cached", "--others", "--exclude-standard")
    try:
        work_tree = repository.get_work_tree()
        pattern = f":(top,glob)**/{WORKLOAD_FILE}"
        listing = repository.git("ls-files", "-z", "--full-name", *options, "--", pattern, decode_paths=True)
    except FaultwatchError:
        return []
    names = {name for name in listing.split("\0") if name}
    top_first = sorted(names, key=lambda name: (name != WORKLOAD_FILE, name))
    files = [work_tree / name for name in top_first[:_MAX_WORKLOAD_FILES]]
    return [file for file in files if file.is_file()]  # git also lists removed files.

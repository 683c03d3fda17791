"""Finds out whether a count can depend on the revision, that is, whether the program used the built files."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from os.path import relpath
from pathlib import Path

from runner.system.tree_walk import TreeTooLarge, walk_tree


def list_doubts(tree: Path, own_files: Iterable[Path], system_files: Iterable[Path]) -> Iterator[str]:
    """Yield the reasons to doubt that the program used the files of the revision, as lines.

    Parameters
    ----------
    own_files
        The files of the build that the program mapped or read.
    system_files
        The files outside of the build that the program mapped.
    """
    own_stems = {_strip_version(path.name) for path in own_files}
    if not own_stems:
        yield "the program neither mapped nor read any file of the build, so its count says nothing about the revision"
    foreign_libraries = {_strip_version(path.name): path for path in system_files if ".so" in path.name}
    built_libraries: dict[str, str] = {}
    if foreign_libraries.keys() - own_stems:  # Otherwise the tree need not be walked.
        with suppress(TreeTooLarge):
            for entry in walk_tree(tree):
                if ".so" in entry.name:
                    built_libraries.setdefault(_strip_version(entry.name), relpath(entry.path, tree))
    for stem in sorted(foreign_libraries.keys() & built_libraries.keys() - own_stems):
        yield (
            f"the program loaded {foreign_libraries[stem]} instead of {built_libraries[stem]}, which the build produced"
        )


def _strip_version(name: str) -> str:
    return name.partition(".so")[0]

"""Decides whether a command executes code of the project, by the project's files and by the files that it mapped."""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from runner.adoption.sources import Sources, is_third_party
from runner.contract.mapped_files import MappedFile

_LANGUAGES = {
    "native": ("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "rs", "go", "f", "f90", "d", "zig", "s", "ml", "hs", "m"),
    "Python": ("py", "pyx"),
    "JVM": ("java", "kt", "scala", "clj", "groovy"),
    "JavaScript": ("js", "mjs", "ts"),
}
_LANGUAGE_BY_SUFFIX = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes}


def executes_own_code(sources: Sources, *, maps_built_files: bool) -> bool:
    """Return whether a command executes code of the project; True if this cannot be told.

    The code of a project in a compiled language is what it builds, so the command must have mapped a file of the build.
    In other languages, and in a Python package of a compiled project, sources are read instead of mapped, so nothing
    can be told.

    Parameters
    ----------
    maps_built_files
        Whether the command has mapped a file of the build.
    """
    return maps_built_files or not is_mainly_native(sources) or sources.has("setup.py", "pyproject.toml")


def is_mainly_native(sources: Sources) -> bool:
    """Return whether most source files of a project are in a language that is compiled to programs of the host."""
    return _find_main_language(sources) == "native"


def count_memory_faults(faults: int, mapped_files: Sequence[MappedFile], program: str) -> int | None:
    """Return the faults of an execution outside of code, in memory and in files of data that it maps; None if unknown.

    Parameters
    ----------
    faults
        All faults of the execution.
    program
        The path of its program from the top of the build.
    """
    known_files = [file for file in mapped_files if file.faults is not None]
    faults_in_code = sum(
        file.faults or 0
        for file in known_files
        if not file.in_build or file.path == program.removeprefix("./") or ".so" in PurePosixPath(file.path).suffixes
    )
    return max(faults - faults_in_code, 0) if known_files else None


def is_source(file: str) -> bool:
    """Return whether a file is a source in one of the languages that are told apart, judging by its suffix."""
    return PurePosixPath(file).suffix.removeprefix(".").lower() in _LANGUAGE_BY_SUFFIX


def has_no_code(sources: Sources) -> bool:
    """Return whether a project has only documents and hidden files, as after a move to another address."""
    paths = (PurePosixPath(file) for file in sources.files)
    return all(
        path.parts[0].startswith(".") or path.suffix in {".md", ".rst"} or (path.stem.isupper() and not path.suffix)
        for path in paths
    )


def _find_main_language(sources: Sources) -> str:
    """Return the language in which most source files of a project are written; empty if there are none."""
    suffixes = (PurePosixPath(file).suffix.removeprefix(".") for file in sources.files if not is_third_party(file))
    counts = Counter(_LANGUAGE_BY_SUFFIX[suffix] for suffix in suffixes if suffix in _LANGUAGE_BY_SUFFIX)
    return next((language for language, _ in counts.most_common(1)), "")

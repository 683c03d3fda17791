"""Tells whether a command executes code of the project. Pure: it judges by the files and by what was mapped."""

from collections import Counter
from pathlib import PurePosixPath

from runner.adoption.sources import Sources, is_third_party

_LANGUAGES = {
    "native": ("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "rs", "go", "f", "f90", "d", "zig", "s", "ml", "hs", "m"),
    "Python": ("py", "pyx"),
    "JVM": ("java", "kt", "scala", "clj", "groovy"),
    "JavaScript": ("js", "mjs", "ts"),
}
_LANGUAGE_BY_SUFFIX = {suffix: language for language, suffixes in _LANGUAGES.items() for suffix in suffixes}


def executes_own_code(sources: Sources, *, maps_built_files: bool) -> bool:
    """Return whether a command executes code of the project, as far as that can be told.

    Of a project in a compiled language, that is what it builds, and the command has mapped a file of the build. The
    sources of other languages are read, not mapped; a Python package in a project of another language is its own code
    too.

    Parameters
    ----------
    maps_built_files
        Whether the command has mapped a file of the build.
    """
    return maps_built_files or _find_main_language(sources) != "native" or sources.has("setup.py", "pyproject.toml")


def _find_main_language(sources: Sources) -> str:
    """Return the language in which most source files of a project are written; empty if there are none."""
    suffixes = (PurePosixPath(file).suffix.removeprefix(".") for file in sources.files if not is_third_party(file))
    counts = Counter(_LANGUAGE_BY_SUFFIX[suffix] for suffix in suffixes if suffix in _LANGUAGE_BY_SUFFIX)
    return next((language for language, _ in counts.most_common(1)), "")

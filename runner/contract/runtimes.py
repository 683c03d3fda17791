"""Recognises a language runtime by the files that a process has mapped."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


class RuntimeName(StrEnum):
    """A language runtime."""

    JAVA = "java"
    NODE = "node"
    DOTNET = "dotnet"
    PYTHON = "python"
    RUBY = "ruby"


_FILES: Mapping[RuntimeName, re.Pattern[str]] = MappingProxyType(
    {
        RuntimeName.JAVA: re.compile(r"libjvm\.so"),
        RuntimeName.NODE: re.compile(r"node|nodejs|deno|chrome|libnode\.so[\d.]*|libv8\.so[\d.]*"),
        RuntimeName.DOTNET: re.compile(r"libcoreclr\.so"),
        RuntimeName.PYTHON: re.compile(r"python[\d.]*|libpython[\w.]*\.so[\d.]*"),
        RuntimeName.RUBY: re.compile(r"ruby[\d.]*|libruby[\w.-]*\.so[\d.]*"),
    }
)
"""The names of a runtime's files, without their folders."""
JIT_RUNTIMES = frozenset({RuntimeName.JAVA, RuntimeName.NODE, RuntimeName.DOTNET})
"""Runtimes that compile functions at run time, and use frame pointers both there and in their own code."""


def find_runtime(files: Iterable[str]) -> tuple[RuntimeName, str] | None:
    """Return the runtime that one of the files belongs to, and the name of this file; None if there is none.

    Parameters
    ----------
    files
        Paths or names of files. If they belong to several runtimes, the first in :class:`RuntimeName` counts.
    """
    names = [file.rpartition("/")[2] for file in files]
    for runtime, pattern in _FILES.items():
        for name in names:
            if pattern.fullmatch(name):
                return runtime, name
    return None

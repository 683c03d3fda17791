"""Decides by the path of a file what it is for: source code, the build, text for people, or only development."""

import re

_SOURCE = re.compile(
    r"\.(?:c|h|cc|hh|cpp|hpp|cxx|hxx|c\+\+|h\+\+|inc|inl|ipp|tpp|def|m|mm|cu|cuh|s|asm|y|l|in|f|for|f\d\d|rs|go|zig|d|"
    r"nim|java|kt|kts|scala|groovy|clj|cs|fs|vb|swift|py|pyx|pxd|pyi|rb|php|pl|pm|lua|js|mjs|cjs|jsx|ts|mts|cts|tsx|"
    r"vue|ml|mli|hs|erl|ex|exs|jl|r|sql|proto)$",
    re.IGNORECASE,
)
_BUILD = re.compile(
    r"(?:^|/)(?:(?:GNU)?makefile[^/]*|[^/]+\.(?:mk|cmake|gradle|am|ac|bazel|bzl|gn|gni|ninja|sln|vcxproj)|CMakeLists\.txt|"
    r"CMakePresets\.json|meson(?:\.build|_options\.txt|\.options)|configure|SConstruct|BUILD|WORKSPACE|Cargo\.(?:toml|lock)|"
    r"rust-toolchain(?:\.toml)?|go\.(?:mod|sum|work)|package(?:-lock)?\.json|pom\.xml|setup\.(?:py|cfg)|pyproject\.toml|"
    r"requirements[^/]*\.txt|conanfile\.\w+|vcpkg\.json|build\.(?:rs|zig|sh)|Dockerfile|\.cargo/config(?:\.toml)?)$",
    re.IGNORECASE,
)
_PROSE = re.compile(
    r"\.(?:md|rst|adoc|texi|[1-9])$|(?:^|/)(?:docs?/|README|LICEN[CS]E|COPYING|CHANGE|NEWS|AUTHORS|\.git)", re.I
)
_AUXILIARY = re.compile(
    r"(?:^|/)_?(?:tests?|testdata|specs?|fixtures|fuzz(?:ing)?|bench(?:es|marks?)?|examples?|demos?|ide|\.[^/]+)/|"
    r"(?:^|/)\.[^/]+$",
    re.IGNORECASE,
)


def is_source_file(file: str) -> bool:
    """Return whether a file contains source code of a program; a file that only builds it does not."""
    return _SOURCE.search(file) is not None and not is_build_file(file)


def is_build_file(file: str) -> bool:
    """Return whether a file defines how the program is built, or with which packages."""
    return _BUILD.search(file) is not None


def is_auxiliary_file(file: str) -> bool:
    """Return whether a file belongs to tests, benchmarks, examples or the developers' tools, judging by its path."""
    return _AUXILIARY.search(file) is not None


def is_prose_file(file: str) -> bool:
    """Return whether a file is read by people only: documentation, a licence, a list of changes."""
    return _PROSE.search(file) is not None

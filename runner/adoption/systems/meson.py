"""Meson. Options that build benchmarks are switched on; if this fails, documents and tests are switched off."""

import re
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal, build_shell_command
from runner.adoption.sources import Sources

_OPTION = re.compile(r"option\s*\(\s*'([\w-]*bench[\w-]*)'\s*,\s*type\s*:\s*'(boolean|feature)'", re.IGNORECASE)
_EXTRA_OPTION = re.compile(
    r"option\s*\(\s*'((?:[\w-]+[-_])?(?:docs?|documentation|man(?:[-_]?pages?)?|tests?))'\s*,\s*"
    r"type\s*:\s*'(boolean|feature)'",
    re.IGNORECASE,
)
_ENABLED_VALUE = {"boolean": "true", "feature": "enabled"}
_DISABLED_VALUE = {"boolean": "false", "feature": "disabled"}


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose three variants: with benchmarks, with the project's defaults, and without documents and tests."""
    file = sources.find_nearest_file("meson.build")
    if file is None or "project(" not in sources.read_text(file):
        return []
    folder = PurePosixPath(file).parent
    text = "".join(sources.read_text(str(folder / name)) for name in ("meson_options.txt", "meson.options"))
    benchmarks = [f"-D{name}={_ENABLED_VALUE[kind.lower()]}" for name, kind in _OPTION.findall(text)]
    options_without_extras = [f"-D{name}={_DISABLED_VALUE[kind.lower()]}" for name, kind in _EXTRA_OPTION.findall(text)]
    variants: list[list[str]] = [[]]  # the project's defaults
    if benchmarks:
        variants.insert(0, benchmarks)
    if options_without_extras:
        variants.append(options_without_extras)
    builds = [_propose_build(str(folder), sources.build_folder, options) for options in variants]
    return [builds[0], *(replace(build, is_reduced=True) for build in builds[1:])]


def _propose_build(folder: str, target: str, options: list[str]) -> BuildProposal:
    """Return the Meson build of a folder, with debug information."""
    folders = [target] if folder == "." else [target, folder]
    setup = ["meson", "setup", "--buildtype=debugoptimized", *options, *folders]
    return BuildProposal(
        "Meson",
        build_shell_command(" ".join(setup), f"meson compile -C {target}"),
        ("meson", "ninja"),
        depth=len(PurePosixPath(folder).parts),
    )

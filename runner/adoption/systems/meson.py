"""Meson. Options that build benchmarks are switched on."""

import re
from pathlib import PurePosixPath

from runner.adoption.proposal import BuildProposal, build_shell_command
from runner.adoption.sources import Sources

_OPTION = re.compile(r"option\s*\(\s*'([\w-]*bench[\w-]*)'\s*,\s*type\s*:\s*'(boolean|feature)'", re.IGNORECASE)
_ENABLED_VALUE = {"boolean": "true", "feature": "enabled"}


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build with benchmarks, and as the project does by default."""
    file = sources.find_nearest("meson.build")
    if file is None or "project(" not in sources.read_text(file):
        return []
    folder = PurePosixPath(file).parent
    text = "".join(sources.read_text(str(folder / name)) for name in ("meson_options.txt", "meson.options"))
    options = [f"-D{name}={_ENABLED_VALUE[kind.lower()]}" for name, kind in _OPTION.findall(text)]
    return [
        _propose_build(str(folder), sources.build_folder, variant) for variant in ([options, []] if options else [[]])
    ]


def _propose_build(folder: str, target: str, options: list[str]) -> BuildProposal:
    """Return the build with Meson in a folder, with debug information."""
    folders = [target] if folder == "." else [target, folder]
    setup = ["meson", "setup", "--buildtype=debugoptimized", *options, *folders]
    return BuildProposal(
        "Meson",
        build_shell_command(" ".join(setup), f"meson compile -C {target}"),
        ("meson", "ninja"),
        depth=len(PurePosixPath(folder).parts),
    )

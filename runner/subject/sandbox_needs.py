"""Finds what a build needs and its sandbox does not give: folders of tools and packages, and a network."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from runner.execution.sandbox import Sandbox
from runner.subject.packages import (
    GO_OBJECTS,
    MANAGERS,
    PackageManager,
    managers_of,
    needs_network,
    set_offline,
)

_VARIABLES = {manager.variable: manager for manager in MANAGERS}
NO_NETWORK = "a build in the sandbox has no network"
HIDDEN_NETWORK = (
    f"{NO_NETWORK}, and sees only the parts of this host that its owner exposes. To find out what is missing, run "
    f"`faultwatch measure --sandbox` in your own clone, at a commit that you trust"
)


class Need(Struct, frozen=True):
    """A folder outside of the tree.

    Attributes
    ----------
    why
        The tool or the variable that leads to it.
    """

    folder: Path
    why: str

    def __str__(self) -> str:
        return f"{self.folder} ({self.why})"


def list_needs(tools: Iterable[str], environment: Mapping[str, str], tree: Path | None = None) -> list[Need]:
    """Return the folders that a build reads: those of its tools, and those that its variables name.

    Parameters
    ----------
    tools
        Programs that the build uses.
    environment
        The variables of the build.
    tree
        Its own folder, which needs nothing.
    """
    needs = []
    for tool in tools:
        if "/" not in tool and (file := shutil.which(tool, path=environment["PATH"])):
            needs.append(Need(_installation(Path(file).parent), tool))
    for name, text in environment.items():
        if not text.startswith("/") or ":" in text or name in {*GO_OBJECTS, "HOME", "PATH"}:
            continue
        manager = _VARIABLES.get(name)
        places = manager.places(Path(text)) if manager else [Path(text)]
        needs += [Need(place, name) for place in places]
    return [need for need in needs if tree is None or not need.folder.is_relative_to(tree)]


def list_hidden(needed: Iterable[Need], sandbox: Sandbox) -> list[Need]:
    """Return those of some folders that exist and that a sandbox does not show."""
    return [need for need in needed if need.folder.exists() and not sandbox.shows(need.folder)]


def list_empty_folders(environment: Mapping[str, str], sandbox: Sandbox) -> tuple[str, ...]:
    """Return the folders of package managers that a sandbox hides: they are empty ones there, which can be written.

    Nothing else than these variables counts, and only folders in the home of this user.
    """
    named = (environment.get(name, "") for name in (*_VARIABLES, *GO_OBJECTS))
    inside = f"{Path.home()}{os.sep}"
    return tuple(
        text
        for text in dict.fromkeys(named)
        if text.startswith(inside) and os.path.normpath(text) == text and not _is_shown(text, sandbox)
    )


def _is_shown(folder: str, sandbox: Sandbox) -> bool:
    return any(Path(folder).is_relative_to(shown) for shown in sandbox.readable)


def hint_at_network(log: str) -> str:
    """Return why a stranger's build may have failed in its sandbox; empty if it wanted no network.

    It chooses between two fixed texts by what the stranger's build printed, and says nothing of this host. Where to
    find packages and tools, :func:`describe_lacking` tells the owner of the code.
    """
    return HIDDEN_NETWORK if needs_network(log) else ""


def describe_lacking(  # noqa: PLR0917 - what a build consists of
    command: Sequence[str], tool: str, environment: Mapping[str, str], sandbox: Sandbox, tree: Path, log: str = ""
) -> str:
    """Return why a build failed in its sandbox and what to do, as a sentence; empty if the sandbox is not the reason.

    Parameters
    ----------
    tool
        The program that could not be started, or that was.
    log
        What the build printed. It lacks a folder that does not exist only if it says so.
    """
    needed = list_needs([tool], environment, tree)
    unseen = list_hidden(needed, sandbox)
    if needs_network(log):
        kept = set_offline(log)
        show = "; if it is outside the repository, add it to FAULTWATCH_SANDBOX_READ too"
        remedy = f". {kept}{show}" if kept else _lacks_network(command, environment, sandbox, unseen)
        return f"{NO_NETWORK}{remedy}"
    if unseen:
        return f"the sandbox does not show {_find_named(unseen)}: {_setting(sandbox, unseen)}"
    missing = [need for need in needed if any(str(one) in log for one in _list_absent(need.folder))]
    if not missing:
        return ""
    managers = [_VARIABLES[need.why] for need in missing if need.why in _VARIABLES]
    remedy = managers[0].filling(command) if managers else "create it on this host"
    return f"this host lacks {_find_named(missing)}, which a build in the sandbox cannot create: {remedy}"


def _lacks_network(command: Sequence[str], environment: Mapping[str, str], sandbox: Sandbox, unseen: list[Need]) -> str:
    """Return where the packages are that the build would download, and how the sandbox gets them."""
    used = [manager for manager in MANAGERS if manager.variable in environment]
    manager = next((manager for manager in managers_of(command) if manager not in used), None)
    if manager:
        place = Need(Path(manager.folder.replace("{home}", str(Path.home()))), manager.name)
        return (
            f': write {manager.variable} = "{manager.folder}" under [build.environment], '
            f"{manager.filling(command)}, and {_setting(sandbox, [*unseen, *_packages([manager], place.folder)])}"
        )
    empty = [need for manager in used for need in _list_unfilled(manager, Path(environment[manager.variable]))]
    if unseen or empty:
        fill = f" {_find_named(empty)} is empty: {used[0].filling(command)}" if empty else ""
        show = f" it does not show {_find_named(unseen)}" if unseen else ""
        unseen = [*unseen, *(need for need in empty if not _is_shown(str(need.folder), sandbox))]
        setting = f"{', and' if empty else ':'} {_setting(sandbox, unseen)}" if unseen else ""
        return f", and{' and'.join(part for part in (show, fill) if part)}{setting}"
    if used:
        places = ", ".join(f"{environment[manager.variable]} ({manager.variable})" for manager in used)
        return f", and {places} lacks a package: {used[0].filling(command)}"
    return (
        ": commit the files that it downloads, or install them on this host and add their folder to "
        "FAULTWATCH_SANDBOX_READ"
    )


def _packages(managers: Iterable[PackageManager], folder: Path) -> list[Need]:
    return [Need(place, manager.variable) for manager in managers for place in manager.places(folder) or [folder]]


def _list_unfilled(manager: PackageManager, folder: Path) -> list[Need]:
    """Return the folder of a manager if it holds no packages."""
    places = [place for place in manager.places(folder) if place.is_dir() and any(place.iterdir())]
    return [] if places else [Need(folder, manager.variable)]


def _installation(folder: Path) -> Path:
    """Return what a tool needs beside its own folder: ``/opt/x`` for ``/opt/x/bin``, but nobody's whole home."""
    home = Path.home()
    shared = {home, home / ".local", home / ".cargo"}
    alone = folder.name != "bin" or folder.parent in shared or (folder / "rustup").exists()
    return folder if alone else folder.parent


def _find_named(found: Iterable[Need]) -> str:
    return ", ".join(map(str, found))


def _setting(sandbox: Sandbox, unseen: Iterable[Need]) -> str:
    value = ":".join(dict.fromkeys([*sandbox.readable, *(str(need.folder) for need in unseen)]))
    return f"set FAULTWATCH_SANDBOX_READ={value} on this host"


def _list_absent(folder: Path) -> list[Path]:
    """Return a folder and those above it, as far as they do not exist."""
    return [one for one in (folder, *folder.parents) if not one.exists()]

"""Finds out what a build needs but its sandbox does not provide: folders of tools and packages, and a network."""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from runner.contract.word_list import join_words
from runner.execution.sandbox import Sandbox
from runner.subject.offline_builds import describe_offline_remedy, find_network_error
from runner.subject.package_managers import (
    GO_CACHE_VARIABLES,
    MANAGERS,
    PackageManager,
    find_managers,
)

_MANAGER_BY_VARIABLE = {manager.variable: manager for manager in MANAGERS}
_UNREADABLE_FILE = re.compile(r"(/[^\s`'\":]+)[`'\"]?: [Pp]ermission denied")
NO_NETWORK = "a build in the sandbox has no network"
HIDDEN_NETWORK_HINT = (
    f"{NO_NETWORK}, and sees only the parts of this host that the host's owner exposes. To find out what is missing, "
    f"run `faultwatch measure --sandbox` in your own clone, at a commit that you trust"
)


class Need(Struct, frozen=True):
    """A folder outside of the tree that a build needs.

    Attributes
    ----------
    needed_by
        The tool or the variable that refers to the folder.
    """

    folder: Path
    needed_by: str

    def __str__(self) -> str:
        return f"{self.folder} ({self.needed_by})"


def list_needs(tools: Iterable[str], environment: Mapping[str, str], tree: Path | None = None) -> list[Need]:
    """Return the folders that a build needs: those of its tools, and those that its variables name.

    Parameters
    ----------
    tools
        The programs that the build uses.
    environment
        The environment variables of the build.
    tree
        The tree of the build, whose folders are left out because the sandbox shows it anyway.
    """
    needs = []
    for tool in tools:
        if "/" in tool:  # It is a path, normally of a file of the tree, and is not searched for in PATH.
            continue
        file = shutil.which(tool, path=environment["PATH"])
        if file:
            needs.append(Need(_find_installation(Path(file).parent), tool))
    for name in environment:
        manager = _MANAGER_BY_VARIABLE.get(name)
        text = manager.find_folder(environment) if manager else environment[name]
        # Only variables that name a single folder count. HOME is the build's own folder, the tools of PATH are listed
        # above, and Go can do without its build cache.
        if not text.startswith("/") or ":" in text or name in {*GO_CACHE_VARIABLES, "HOME", "PATH"}:
            continue
        folders = manager.list_package_folders(Path(text)) if manager else [Path(text)]
        needs += [Need(folder, name) for folder in folders]
    return [need for need in needs if tree is None or not need.folder.is_relative_to(tree)]


def list_hidden_needs(needs: Iterable[Need], sandbox: Sandbox) -> list[Need]:
    """Return the needed folders that exist, but that the sandbox does not show."""
    return [need for need in needs if _exists(need.folder) and not sandbox.is_visible(need.folder)]


def list_masked_cache_folders(environment: Mapping[str, str], sandbox: Sandbox) -> tuple[str, ...]:
    """Return the cache folders of package managers that a sandbox replaces by empty, writable folders.

    These are folders in the user's home directory that variables of package managers name, but that the sandbox does
    not show.
    """
    paths = [manager.find_folder(environment) for manager in MANAGERS]
    paths += [environment.get(name, "") for name in GO_CACHE_VARIABLES]
    home_prefix = f"{Path.home()}{os.sep}"
    # A path with ".." could lead out of the home directory. Path() removes doubled and trailing slashes, but no "..".
    folders_in_home = list(
        dict.fromkeys(
            str(Path(path)) for path in paths if path.startswith(home_prefix) and ".." not in Path(path).parts
        )
    )
    folders_in_home = [folder for folder in folders_in_home if folder.startswith(home_prefix)]
    return tuple(folder for folder in folders_in_home if not _is_shown(folder, sandbox))


def _is_shown(folder: str, sandbox: Sandbox) -> bool:
    """Return whether a sandbox shows a folder because the owner of the host has exposed it."""
    return any(Path(folder).is_relative_to(readable) for readable in sandbox.readable_folders)


def get_hidden_network_hint(log: str) -> str:
    """Return why an untrusted build may have failed in its sandbox; empty if it did not try to use the network.

    The text is one of two fixed texts, chosen by the build's output, so it reveals nothing about this host. For the
    owner of the host, :func:`describe_sandbox_failure` also tells where packages and tools are.
    """
    return HIDDEN_NETWORK_HINT if find_network_error(log) else ""


def describe_sandbox_failure(  # noqa: PLR0917 - what a build consists of
    command: Sequence[str], tool: str, environment: Mapping[str, str], sandbox: Sandbox, tree: Path, log: str = ""
) -> str:
    """Return why a build failed in its sandbox and what to do, as a sentence; empty if the sandbox is not the reason.

    Parameters
    ----------
    tool
        The program that was started, or that could not be started.
    log
        The output of the build. A missing folder is reported only if the output mentions it.
    """
    needs = list_needs([tool], environment, tree)
    hidden_needs = list_hidden_needs(needs, sandbox)
    if find_network_error(log):
        offline_remedy = describe_offline_remedy(log)
        if offline_remedy:
            read_hint = "if that folder is outside the repository, add it to FAULTWATCH_SANDBOX_READ too"
            return f"{NO_NETWORK}. {offline_remedy}; {read_hint}"
        return f"{NO_NETWORK}{_explain_missing_packages(command, environment, sandbox, hidden_needs)}"
    unreadable_need = _find_unreadable_need(needs, log)
    if unreadable_need:
        folder = shlex.quote(str(unreadable_need.folder))
        return (
            f"the user of the sandbox may not read all files in {unreadable_need.folder} "
            f"({unreadable_need.needed_by}): run `chmod -R a+rX {folder}` on this host"
        )
    if hidden_needs:
        return f"the sandbox does not expose {_join_folders(hidden_needs)}: {_suggest_setting(sandbox, hidden_needs)}"
    missing_needs = [need for need in needs if any(str(path) in log for path in _list_missing_parents(need.folder))]
    if not missing_needs:
        return ""
    managers = [
        _MANAGER_BY_VARIABLE[need.needed_by] for need in missing_needs if need.needed_by in _MANAGER_BY_VARIABLE
    ]
    remedy = managers[0].describe_filling(command) if managers else "create it on this host"
    return f"this host lacks {_join_folders(missing_needs)}, which a build in the sandbox cannot create: {remedy}"


def _find_unreadable_need(needs: Iterable[Need], log: str) -> Need | None:
    """Return the need with a file that a build could not read, although the sandbox shows it; None if there is none.

    Packages keep the permissions of their archives, which may be those of their author alone.
    """
    # Search few lines, because the search takes a time in proportion to the square of the length of a line.
    lines = [line for line in log.splitlines() if "ermission denied" in line]
    paths = [Path(path) for line in lines for path in _UNREADABLE_FILE.findall(line)]
    return next((need for need in needs if any(need.folder in path.parents for path in paths)), None)


def _explain_missing_packages(
    command: Sequence[str], environment: Mapping[str, str], sandbox: Sandbox, hidden_needs: list[Need]
) -> str:
    """Return where the packages are that a build tried to download, and how to make them available in the sandbox.

    The text continues the sentence :data:`NO_NETWORK`.
    """
    # First case: the build uses a package manager, but no variable says where it keeps its packages.
    folder_by_manager = {manager: manager.find_folder(environment) for manager in MANAGERS}
    used_managers = [manager for manager in MANAGERS if folder_by_manager[manager]]
    manager = next((manager for manager in find_managers(command) if manager not in used_managers), None)
    if manager:
        folder = Path(manager.folder.replace("{home}", str(Path.home())))
        setting = _suggest_setting(sandbox, [*hidden_needs, *_list_package_needs(manager, folder)])
        return (
            f': write {manager.variable} = "{manager.setting}" under [build.environment], '
            f"{manager.describe_filling(command)}, and {setting}"
        )
    # Second case: the folders of packages are hidden, or empty.
    needs_by_manager = {
        manager: _list_unfilled_needs(manager, Path(folder_by_manager[manager])) for manager in used_managers
    }
    unfilled_needs = [need for needs in needs_by_manager.values() for need in needs]
    if hidden_needs or unfilled_needs:
        problems = []
        if hidden_needs:
            problems.append(f"it does not expose {_join_folders(hidden_needs)}")
        if unfilled_needs:
            first_unfilled = next(manager for manager, needs in needs_by_manager.items() if needs)
            verb = "is" if len(unfilled_needs) == 1 else "are"
            problems.append(f"{_join_folders(unfilled_needs)} {verb} empty: {first_unfilled.describe_filling(command)}")
        text = f", and {' and '.join(problems)}"
        unshown_needs = [*hidden_needs, *(need for need in unfilled_needs if not _is_shown(str(need.folder), sandbox))]
        if unshown_needs:
            text += f"{', and' if unfilled_needs else ':'} {_suggest_setting(sandbox, unshown_needs)}"
        return text
    # Other cases: a folder lacks a package, or nothing is known about packages.
    if used_managers:
        places = [f"{folder_by_manager[manager]} ({manager.variable})" for manager in used_managers]
        subject = places[0] if len(places) == 1 else f"one of {join_words(places)}"
        return f", and {subject} lacks a package: {used_managers[0].describe_filling(command)}"
    return (
        ": commit the files that it downloads, or install them on this host and add their folder to "
        "FAULTWATCH_SANDBOX_READ"
    )


def _list_package_needs(manager: PackageManager, folder: Path) -> list[Need]:
    """Return the existing parts of a package manager's folder that contain packages; if there are none, the folder."""
    package_folders = manager.list_package_folders(folder) or [folder]
    return [Need(package_folder, manager.variable) for package_folder in package_folders]


def _list_unfilled_needs(manager: PackageManager, folder: Path) -> list[Need]:
    """Return the folder of a package manager, in a list, if it contains no packages; otherwise an empty list."""
    has_packages = any(map(_has_content, manager.list_package_folders(folder)))
    return [] if has_packages else [Need(folder, manager.variable)]


def _has_content(folder: Path) -> bool:
    """Return whether a folder that a workload has chosen exists and is not empty, as far as this user can see."""
    try:
        return any(folder.iterdir())
    except OSError:  # It is missing or a file, its name is too long, or this user may not read it.
        return False


def _find_installation(folder: Path) -> Path:
    """Return the folder of a tool's installation: ``/opt/x`` for ``/opt/x/bin``, but never a whole home directory."""
    home = Path.home()
    shared_folders = {home, home / ".local", home / ".cargo"}
    # The folder above rustup's programs is Cargo's home, which may contain credentials.
    must_not_show_parent = folder.name != "bin" or folder.parent in shared_folders or (folder / "rustup").exists()
    return folder if must_not_show_parent else folder.parent


def _join_folders(needs: Iterable[Need]) -> str:
    return join_words([str(need) for need in needs])


def _suggest_setting(sandbox: Sandbox, hidden_needs: Iterable[Need]) -> str:
    """Return how to make the sandbox show these folders, in addition to those that it shows already."""
    value = ":".join(dict.fromkeys([*sandbox.readable_folders, *(str(need.folder) for need in hidden_needs)]))
    return f"set FAULTWATCH_SANDBOX_READ={value} on this host"


def _list_missing_parents(folder: Path) -> list[Path]:
    """Return those of a folder and its parents that do not exist."""
    return [path for path in (folder, *folder.parents) if not _exists(path)]


def _exists(path: Path) -> bool:
    """Return whether a path that a workload has chosen exists, as far as this user can see.

    Unlike ``Path.exists``, this is False for a name that is too long, and in a folder that this user may not search.
    """
    return os.path.exists(path)  # noqa: PTH110

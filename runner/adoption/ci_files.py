"""Writes the file that runs the gate in a project's CI."""

import re
from collections.abc import Sequence
from importlib import resources

from msgspec import Struct

from runner import ci
from runner.adoption.action_reference import PLACEHOLDER, REPLACE_PLACEHOLDER, find_action
from runner.adoption.sources import Sources
from runner.ci.registry import CI_SYSTEMS, NO_CI
from runner.ci.shell import SHELL
from runner.ci.system import find_marked_file
from runner.errors import FaultwatchError


class CiFile(Struct, frozen=True):
    """A file for a CI system.

    Attributes
    ----------
    path
        Path of the file, relative to the top of the repository.
    executable
        Whether it is a program.
    remark
        What remains to be done by hand, as a sentence; empty if nothing remains.
    second
        Another file that the system needs; None if one is enough.
    """

    path: str
    text: str
    executable: bool = False
    remark: str = ""
    second: "CiFile | None" = None


def detect_ci(sources: Sources, remote: str = "") -> str:
    """Return the name of the CI system that a project uses, judging by its files, else by the address of its remote.

    It is the shell script for any system if neither of them shows a system.

    Parameters
    ----------
    remote
        The address of the remote; empty if there is none.
    """
    # The host of https://USER:TOKEN@HOST:PORT/PATH, ssh://HOST/PATH or USER@HOST:PATH.
    host_and_path = re.sub(r"^(?:[a-z+]+://)?(?:[^@/]*@)?", "", remote.lower())
    server = host_and_path.partition("/")[0].partition(":")[0]
    systems_with_files = [
        system for system in CI_SYSTEMS.values() if find_marked_file(sources.files, *system.marker_paths)
    ]
    systems_of_server = [
        system for system in CI_SYSTEMS.values() if any(word in server for word in system.server_words)
    ]
    # If there are files of several CI systems, the remote's address decides.
    systems_in_use = [
        system for system in systems_of_server if system in systems_with_files or not systems_with_files
    ] + systems_with_files
    return systems_in_use[0].name if systems_in_use else SHELL.name


def render_ci_file(
    name: str,
    sources: Sources,
    *,
    workload: str = "workload.toml",
    branch: str = "main",
    readable: Sequence[str] = (),
    action: str = "",
) -> CiFile | None:
    """Return the file for a CI system; None for :data:`NO_CI`.

    Parameters
    ----------
    name
        Name of the CI system.
    workload
        Path of the workload file in the repository.
    branch
        The branch into which changes are merged.
    readable
        Folders that the gate's sandbox has to show, in addition to those of the system.
    action
        The action that the workflow for GitHub's own machines uses. By default, it is taken from the repository from
        which this Faultwatch was installed.

    Raises
    ------
    FaultwatchError
        A value contains characters that a shell or the CI system may interpret.
    """
    if name == NO_CI:
        return None
    system = CI_SYSTEMS[name]
    action = action or find_action()
    location = system.choose_location(sources.files)
    text = _read_template(system.template)
    # Remove the optional parts of the template that this project does not need.
    if not readable:
        text = _READ.sub("", text)
    text = _SUBMODULES.sub(r"\1" if sources.has(".gitmodules") else "", text)
    values = {"WORKLOAD": workload, "BRANCH": branch, "READ": ":".join(readable), "ACTION": action}
    second = None
    if system.second_file:
        second = CiFile(system.second_file.path, _fill_template(_read_template(system.second_file.template), values))
    uses_placeholder = "@ACTION@" in text and action == PLACEHOLDER
    remark = f"{REPLACE_PLACEHOLDER}; {location.remark}" if uses_placeholder else location.remark
    return CiFile(
        location.path, _fill_template(text, values), executable=system.is_program, remark=remark, second=second
    )


_SUBMODULES = re.compile(r"^ *# @SUBMODULES@\n(.*?)^ *# @END@\n", re.MULTILINE | re.DOTALL)
_PLACEHOLDER_STEP = re.compile(rf"^( *)- uses: {PLACEHOLDER}$", re.MULTILINE)
_READ = re.compile(r"^ *# Folders outside of /usr .*\n.*@READ@\n", re.MULTILINE)


def _read_template(name: str) -> str:
    """Return the text of a template in ``runner/ci/templates``."""
    return resources.files(ci).joinpath("templates", name).read_text(encoding="utf-8")


def _fill_template(template: str, values: dict[str, str]) -> str:
    """Return a template with its placeholders replaced; refuse values that a shell or YAML could interpret."""
    for name, value in values.items():
        if f"@{name}@" not in template:
            continue
        # These characters have no special meaning in any of the formats or in a shell.
        if not re.fullmatch(r"[A-Za-z0-9._/+~:@-]+", value):
            raise FaultwatchError(
                f"{value!r} cannot be written into a CI file",
                "use only letters, digits and ._/+~:@- in this name, or pass --ci none",
            )
        template = template.replace(f"@{name}@", value)
    # A step whose action the user still has to name gets a comment that says so.
    return _PLACEHOLDER_STEP.sub(rf"\1# TODO: {REPLACE_PLACEHOLDER}.\n\g<0>", template)

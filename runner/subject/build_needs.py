"""Checks the programs that a build needs (the key ``needs`` of ``[build]``), and says how to get missing ones."""

import shutil
from collections.abc import Sequence

from runner.execution.sandbox import Sandbox
from runner.subject.missing_packages import name_missing_tool
from runner.subject.tool_search import suggest_path
from runner.workload import Workload
from runner.workload.workload_folder import get_build_path


def find_missing_programs(workload: Workload, hidden_from: Sandbox | None = None) -> str:
    """Return which of the programs that a build needs are missing, as a sentence; empty if none is missing.

    Parameters
    ----------
    hidden_from
        The sandbox in which the programs are needed. The sentence then reveals nothing about the rest of this host.
    """
    path = get_build_path(workload)
    if hidden_from:
        visible_path = hidden_from.select_visible_path(path)
        # A path counts as missing: shutil.which() would look for it on the host, and so reveal which files exist.
        missing_programs = [
            name for name in workload.build.needs if "/" in name or not shutil.which(name, path=visible_path)
        ]
        if not missing_programs:
            return ""
        needed_programs = _describe_needed_programs(missing_programs)
        return f"the PATH of the sandbox lacks {needed_programs}: {', '.join(missing_programs)}"
    missing_programs = [name for name in workload.build.needs if not shutil.which(name, path=path)]
    if not missing_programs:
        return ""
    # Do not advise installing a program that the host has elsewhere.
    for name in missing_programs:
        path_hint = suggest_path(name, path)
        if path_hint:
            return path_hint
    message = f"this host lacks {_describe_needed_programs(missing_programs)} ({', '.join(missing_programs)})"
    parts = [name_missing_tool(name) for name in missing_programs]
    remedies = dict.fromkeys(part.remedy for part in parts if part.packages)
    return f"{message}: {'; '.join(remedies)}" if remedies else message


def _describe_needed_programs(programs: Sequence[str]) -> str:
    return "a program that the build needs" if len(programs) == 1 else "programs that the build needs"

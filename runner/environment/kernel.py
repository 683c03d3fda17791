"""The kernel: its release, its boot parameters, and its settings that affect counting."""

import os
import re

from runner.environment.secrets import hide_secret
from runner.system.tree import SettingValues, Tree

_IRRELEVANT_PARAMETER = re.compile(
    r"""(?x) (?:
        BOOT_IMAGE | initrd | root | rootflags | rootfstype | rootwait | ro | rw | resume | resume_offset | cryptdevice
        | rd\..* | systemd\..* | init | rdinit | ds | ip | console | earlycon | earlyprintk | quiet | splash | loglevel
        | hostname | boot_id | ostree
    ) (?:=.*)?"""
)
"""Boot parameters that say where the system is, its name and its console: irrelevant, and some change at each boot."""


def read_settings(tree: Tree) -> SettingValues:
    """Return the settings of the kernel."""
    return {
        "kernel.release": tree.read_text("proc/sys/kernel/osrelease"),
        "kernel.version": tree.read_text("proc/sys/kernel/version"),
        "kernel.architecture": os.uname().machine,
        "kernel.command_line": _filter_command_line(tree.read_text("proc/cmdline")),
        "kernel.randomize_va_space": tree.read_text("proc/sys/kernel/randomize_va_space"),
        "kernel.perf_event_paranoid": tree.read_text("proc/sys/kernel/perf_event_paranoid"),
    }


def _filter_command_line(text: str | None) -> str | None:
    """Return the kernel's command line without irrelevant parameters and secrets; None if it cannot be read."""
    if text is None:
        return None
    parameters = re.findall(r'(?:"[^"]*"|\S)+', text)
    if "--" in parameters:  # the rest is for init
        parameters = parameters[: parameters.index("--")]
    return " ".join(
        _mask_value(parameter) for parameter in parameters if not _IRRELEVANT_PARAMETER.fullmatch(parameter)
    )


def _mask_value(parameter: str) -> str:
    """Return a parameter of the kernel with its value hidden if it is a secret."""
    name, equals, value = parameter.partition("=")
    return name + equals + hide_secret(name, value)

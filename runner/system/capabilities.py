"""Reads what the kernel permits this process beyond the rights of its user."""

from runner.system.tree import Tree

SYS_PTRACE, SYS_ADMIN, SYS_NICE, PERFMON = 19, 21, 23, 38
"""The kernel's numbers of capabilities, as in ``capability.h``."""


def has_capability(tree: Tree, number: int) -> bool:
    """Return whether this process has a capability; False if this is unknown."""
    lines = tree.read_lines("proc/self/status")
    text = next((line.partition(":")[2].strip() for line in lines if line.startswith("CapEff:")), "0")
    try:
        return bool(int(text, 16) & 1 << number)
    except ValueError:
        return False

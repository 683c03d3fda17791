"""The processors and their memory nodes."""

import hashlib
import re

from runner.system.tree import SettingValues, Tree

_CPU = "sys/devices/system/cpu"
_NODE = "sys/devices/system/node"
_FIRST_CPU_BYTES = 16_384
"""Bytes of /proc/cpuinfo that include the first processor. Reading all of it takes long on a large machine."""
_DIGEST_DIGITS = 12


def read_settings(tree: Tree) -> SettingValues:
    """Return the settings of the processors and of the memory nodes."""
    return {
        **_read_model(tree),
        "cpu.online": count_online(tree),
        # Only their number: allocators depend on it, and a container may run on other processors each time.
        "cpu.allowed": _count_cpus(_read_affinity(tree, "Cpus_allowed_list")),
        "cpu.smt": tree.read_text(f"{_CPU}/smt/control"),
        "cpu.governor": read_governors(tree),
        "cpu.turbo": read_turbo(tree),
        "numa.nodes": tree.read_text(f"{_NODE}/online"),
        "numa.allowed": _read_affinity(tree, "Mems_allowed_list"),
        "numa.topology": _read_topology(tree),
        "numa.balancing": tree.read_text("proc/sys/kernel/numa_balancing"),
        "numa.demotion": tree.read_text("sys/kernel/mm/numa/demotion_enabled"),
    }


def read_turbo(tree: Tree) -> str | None:
    """Return whether the processor may run above its nominal frequency: ``on``, ``off``, or ``None`` if unknown."""
    no_turbo = tree.read_text(f"{_CPU}/intel_pstate/no_turbo")
    if no_turbo is not None:
        return "off" if no_turbo == "1" else "on"
    boost = tree.read_text(f"{_CPU}/cpufreq/boost")
    return {"0": "off", "1": "on"}.get(boost or "")


def count_online(tree: Tree) -> str | None:
    """Return how many processors are in use; None if the kernel does not tell."""
    return _count_cpus(tree.read_text(f"{_CPU}/online"))


def read_governors(tree: Tree) -> str | None:
    """Return the distinct frequency governors in use: which processor has which governor can change.

    None if the processors have none.
    """
    policies = tree.list_names(f"{_CPU}/cpufreq", "policy*")
    governors = {tree.read_text(f"{_CPU}/cpufreq/{policy}/scaling_governor") for policy in policies}
    return " ".join(sorted(name for name in governors if name)) or None


def _read_model(tree: Tree) -> SettingValues:
    """Return the model of the processor, its microcode, and a digest of its features."""
    fields: dict[str, str] = {}
    for line in tree.read_lines("proc/cpuinfo", _FIRST_CPU_BYTES):
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    arm_model = " ".join(
        f"{key} {fields[f'CPU {key}']}" for key in ("implementer", "part", "variant") if f"CPU {key}" in fields
    )
    model = fields.get("model name") or fields.get("cpu") or fields.get("uarch") or arm_model
    features = sorted((fields.get("flags") or fields.get("Features") or "").split())
    digest = hashlib.sha256(" ".join(features).encode()).hexdigest()[:_DIGEST_DIGITS]
    return {
        "cpu.model": model or None,
        "cpu.microcode": fields.get("microcode"),
        # Compilers and libraries choose code by these features, and a virtual machine can hide some of them.
        "cpu.features": f"{len(features)}, sha256 {digest}" if features else None,
    }


def _read_topology(tree: Tree) -> str | None:
    """Return each node's processors and its distances to all nodes; None if the kernel shows no nodes."""
    nodes = []
    for node in tree.list_names(_NODE, "node[0-9]*"):
        cpus, distances = tree.read_text(f"{_NODE}/{node}/cpulist"), tree.read_text(f"{_NODE}/{node}/distance")
        nodes.append(f"{node} cpus {cpus or 'none'} distances {distances or 'unknown'}")
    return "; ".join(nodes) or None


def _read_affinity(tree: Tree, field: str) -> str | None:
    """Return the list of processors or memory nodes that this process may use; None if it is not shown."""
    match = re.search(rf"^{field}:\s+(\S+)$", tree.read_text("proc/self/status") or "", re.MULTILINE)
    return match[1] if match else None


def _count_cpus(cpus: str | None) -> str | None:
    """Return how many processors a list such as ``0-3,8`` names; None if it names none."""
    ranges = re.findall(r"(\d+)(?:-(\d+))?", cpus or "")
    return str(sum(int(last or first) - int(first) + 1 for first, last in ranges)) if ranges else None

"""Decides which events a workload file may name, because ``-e`` of perf accepts much more than names of counters.

Before perf 6.6, ``-e PATH.c`` and ``-e PATH.o`` load a BPF program. ``uprobe/…/`` and ``sdt_…`` attach to programs of
other users, and ``mem:…`` sets a hardware breakpoint. perf runs outside of the sandbox, so a name must have one of the
forms below.
"""

import re

_MODIFIER = r"(?::[ukhGHpPSI]{1,6})?"
_FORMS = (
    # Software and hardware events, as in minor-faults, L1-dcache-loads or mem_load_retired.l3_miss.
    rf"[A-Za-z][A-Za-z0-9_.-]{{0,99}}{_MODIFIER}",
    # Raw codes, as in r01c4.
    rf"r[0-9a-fA-F]{{1,16}}{_MODIFIER}",
    # Events of a processor's PMU, as in cpu/event=0x3c,umask=0x0/ or cpu_core/cycles/.
    r"(?:cpu|cpu_core|cpu_atom|armv8[a-z0-9_]*)/[a-z0-9_.-]+(?:=(?:0x)?[0-9a-fA-F]{1,16})?"
    r"(?:,(?:event|umask|cmask|inv|edge|any|ldlat|offcore_rsp|frontend|config[12]?)(?:=(?:0x)?[0-9a-fA-F]{1,16})?)"
    r"{0,8}/[ukhGHpP]{0,6}",
    # Tracepoints, as in kmem:mm_page_alloc.
    rf"[a-z][a-z0-9_]{{0,49}}:[A-Za-z_][A-Za-z0-9_]{{0,99}}{_MODIFIER}",
)
_ALLOWED = re.compile("|".join(f"(?:{event_format})" for event_format in _FORMS))
_LOADED_FILE = re.compile(r"\.(?:c|o|bpf|obj|so|cpp|h)(?::.*)?$", re.IGNORECASE)
_FOREIGN_GROUP = re.compile(r"(?:mem|bpf.*|probe.*|[ku](?:ret)?probe.*|sdt_.*|synthetic|tool|breakpoint)(?::.*|$)")
"""Groups of tracepoints, and kinds of events, that attach to other programs or load code."""


def is_allowed(event: str) -> bool:
    """Return whether a workload file may name an event."""
    return bool(_ALLOWED.fullmatch(event)) and not _LOADED_FILE.search(event) and not _FOREIGN_GROUP.match(event)

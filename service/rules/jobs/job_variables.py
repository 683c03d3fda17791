"""Decides which variables of a stored environment a job may set when it reproduces this environment on a host.

Anyone who may send reports can choose the environment in a report. A job that reproduces it must not load a library or
a start-up file that the sender chose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_VARIABLE_PREFIX = "variable."
_HIDDEN_VALUE = "(hidden)"
_TUNING_VARIABLE = re.compile(
    r"MALLOC_(?!CONF_)[A-Z_]+|_RJEM_MALLOC_CONF|GLIBC_TUNABLES|TCMALLOC_[A-Z_]+|MIMALLOC_[A-Z_]+|PYTHONMALLOC|PYTHONHASHSEED"
    r"|OMP_(?:NUM_THREADS|PROC_BIND|PLACES|DYNAMIC|SCHEDULE|STACKSIZE|WAIT_POLICY|THREAD_LIMIT|MAX_ACTIVE_LEVELS|NESTED)"
    r"|(?:OPENBLAS|MKL|GOTO|BLIS|NUMEXPR|RAYON)_NUM_THREADS|GOGC|GOMAXPROCS|GOMEMLIMIT|RUST_MIN_STACK|LANG|LC_[A-Z]+|TZ"
)
"""Variables of allocators and runtimes that tune memory behaviour."""
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.,:;=+@%{}() -]{0,4000}")
"""A value without a path."""
_ALLOCATOR_LIBRARY = re.compile(
    r"(?:(?:/usr)?(?:/local)?/lib(?:64)?/(?:[a-z0-9_]+-linux-[a-z0-9]+/)?)?"
    r"lib(?:jemalloc|tcmalloc|tcmalloc_minimal|mimalloc|snmallocshim|hoard|scudo|rpmalloc)(?:-[a-z]+)?\.so(?:\.[0-9]+)*"
)
"""The name of a known allocator's library, on its own or in a system folder."""


def may_be_set(name: str, value: str) -> bool:
    """Return whether a job may set a variable from a report: a tuning variable, or a known allocator to preload."""
    if name == "LD_PRELOAD":
        return all(_ALLOCATOR_LIBRARY.fullmatch(library) for library in re.split(r"[ :]+", value) if library)
    return bool(_TUNING_VARIABLE.fullmatch(name) and _PLAIN_VALUE.fullmatch(value))


def select_settable_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a job may set."""
    return {name: value for name, value in variables.items() if may_be_set(name, value)}


def read_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a stored environment that a job may set; the values of secrets are not stored."""
    return select_settable_variables(
        {
            name.removeprefix(_VARIABLE_PREFIX): value
            for name, value in settings.items()
            if name.startswith(_VARIABLE_PREFIX) and value and _HIDDEN_VALUE not in value
        }
    )

"""Finds changed lines that may decide when memory is collected, kept or given back.

Such a line faults no more itself: the lines that touch the memory do. So neither its faults nor what it calls tells
that it is the cause, only what it is about.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from itertools import zip_longest

from runner.contract.code_change import ChangedCode
from runner.contract.diagnosis import MAX_POLICY_CHANGES, DiagnosisRequest, Difference, FaultCause
from runner.contract.source_files import is_auxiliary_file, is_source_file
from service.rules.diagnose.changed_line_text import is_code_of_place
from service.rules.diagnose.executed_functions import FunctionInFile, list_executed_functions
from service.rules.diagnose.scattered_difference import is_scattered

_POLICY_CAUSES = frozenset(
    {
        FaultCause.NEW_MEMORY,
        FaultCause.UNKNOWN_TOUCH,
        FaultCause.AFTER_MADVISE,
        FaultCause.AFTER_MUNMAP,
        FaultCause.AFTER_BRK,
    }
)
"""The causes of which there are more or fewer faults if memory is kept for longer, or given back more often."""
_POLICY_NAME = re.compile(
    r"(?<![A-Za-z])gc(?![a-z])|(?<![A-Z])GC(?!C)|"
    r"(?i:gc(?:param|step|state|limit|thresh|trigger|count)|garbage|sweep|debt|pause|purge|decommit|reclaim|retire|"
    r"evict|recycl|reus|decay|madvise|unmap|malloc_trim|trim_?threshold|shrink)"
)
"""What is in the names of code that collects garbage, and of code that keeps memory or gives it back. Code that only
frees objects is everywhere."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<![\w.])(?![01]\b(?![xX.]))(?:0[xX][0-9A-Fa-f]+|\d[\w.]*)")
"""A number but 0 and 1, with which variables begin and by which indices differ."""
_CONSTANT = re.compile(r"(?<![\w.])(?!(?:NULL|TRUE|FALSE)\b)[A-Z][A-Z0-9_]{2,}(?!\w|\s*\()|\bsizeof\b")
"""A name in capitals that is not called, or the size of a type."""
_CONDITION = re.compile(r"\b(?:if|while|unless|when)\b|[?<]|(?<!-)>|&&|\|\||[=!]=")
_MACRO = re.compile(r"#\s*define\b")
_DEFINED_NAME = re.compile(r"#\s*define\s+(\w+)|(\w+)\s*(?:[-+*/|]?=(?!=)|\+\+|--)|(?:\+\+|--)(?:\w+(?:->|\.))*(\w+)")
"""A name to which a line gives a value."""
_COUNTER = re.compile(r"(\w+)\s*(?:\+\+|--)|(?:\+\+|--)(?:\w+(?:->|\.))*(\w+)|(\w+)\s*[-+]=\s*\w+\s*;?$")
"""A name that a line increases or decreases by one or by a variable."""
_VALUES_IN_BRACES = re.compile(r"\{.*\}")
_KEY = re.compile(r"[\w\"']\s*:")
"""What precedes a value in a table."""
_CHECK = re.compile(r"\w*assert\w*\s*\(", re.IGNORECASE)
_MIN_FAULTS = 3
"""A smaller difference is not worth a cause that only the names of code suggest."""


def relate_to_policy(difference: Difference, request: DiagnosisRequest) -> Difference:
    """Return a difference with the changed lines that may decide when memory is given back, if these may explain it.

    They explain nothing if the difference can be chance or is scattered, or if a changed line has most of it itself.
    """
    leading_part = difference.parts[0] if difference.parts else None
    if leading_part is None or leading_part.cause not in _POLICY_CAUSES or difference.conclusion:
        return difference
    changed_place, growth = difference.changed_place, difference.faults
    if is_scattered(difference, {file.file for file in request.changed_files}):
        return difference
    if abs(growth) < _MIN_FAULTS or (changed_place is not None and changed_place.explains(growth)):
        return difference
    # A line that is named anyhow, because it gives memory back, is not told twice.
    changed_code = [
        code for code in request.changed_code if changed_place is None or not is_code_of_place(code, changed_place)
    ]
    changes = _choose_policy_changes(changed_code, list_executed_functions(request))
    if not changes:
        return difference
    return difference.model_copy(update={"policy_changes": tuple(changes), "is_indirect": False, "other_change": ""})


def _choose_policy_changes(changed_code: Sequence[ChangedCode], executed: Set[FunctionInFile]) -> list[ChangedCode]:
    """Return the changed lines that may decide when memory is given back, at first one of each function.

    Counters and limits with other values are enough, if there are any. Counters come first, because they say what is
    limited, then other numbers. Of equal lines, macros and lines in functions that were seen to run come first, then
    those of the file with the most such lines. The other numbers of macros in the same files are limits as well.
    """
    changes = [change for change in changed_code if _is_policy_change(change)]
    files = {change.file for change in changes}
    macros = [change for change in changed_code if change.file in files and _is_other_macro_number(change)]
    changes += [macro for macro in macros if macro not in changes]
    changes = [change for change in changes if _is_counter(change) or _is_limit(change)] or changes
    n_of_file = Counter(change.file for change in changes)
    changes.sort(
        key=lambda change: (
            not _is_counter(change),
            not _differs(change, _NUMBER),
            change.function not in _list_defined_names(change) and (change.file, change.function) not in executed,
            -n_of_file[change.file],
        ),
    )
    changes_of_function: defaultdict[FunctionInFile, list[ChangedCode]] = defaultdict(list)
    for change in changes:
        changes_of_function[change.file, change.function].append(change)
    rows = zip_longest(*changes_of_function.values())
    chosen = [change for row in rows for change in row if change is not None][:MAX_POLICY_CHANGES]
    return [change for own_changes in changes_of_function.values() for change in own_changes if change in chosen]


def _is_other_macro_number(change: ChangedCode) -> bool:
    """Return whether a line defines a macro with another number than before."""
    texts = (change.text_before, change.text_after)
    return all(map(_MACRO.match, texts)) and _differs(change, _NUMBER)


def _is_counter(change: ChangedCode) -> bool:
    """Return whether a line counts something else than before for the code that gives memory back."""
    before, after = (_COUNTER.findall(text) for text in (change.text_before, change.text_after))
    return before != after and any(_POLICY_NAME.search(name) for names in (*before, *after) for name in names)


def _is_limit(change: ChangedCode) -> bool:
    """Return whether a line has another number or constant than before, or defines a macro that is new or gone."""
    texts = _list_texts(change)
    if any(map(_MACRO.match, texts)) or _differs(change, _NUMBER):
        return True
    # Each entry of a table has constants.
    return _differs(change, _CONSTANT) and not any(map(_VALUES_IN_BRACES.search, texts))


def _is_policy_change(change: ChangedCode) -> bool:
    """Return whether a line sets or tests a value, in code whose names are those of giving memory back."""
    if not is_source_file(change.file) or is_auxiliary_file(change.file):
        return False
    texts = _list_texts(change)
    if any(map(_CHECK.match, texts)):
        return False
    names = [change.function, *(name for text in texts for name in _NAME.findall(text))]
    if not any(map(_POLICY_NAME.search, names)):
        return False
    defined_names = _list_defined_names(change)
    if any(map(_CONDITION.search, texts)) or any(map(_POLICY_NAME.search, defined_names)):
        return True
    sets_value = bool(defined_names) or any(
        pattern.search(text) for pattern in (_VALUES_IN_BRACES, _KEY) for text in texts
    )
    return sets_value and _is_limit(change)


def _list_defined_names(change: ChangedCode) -> list[str]:
    """Return the names to which a line gives a value, before or after the change."""
    return [name for text in _list_texts(change) for names in _DEFINED_NAME.findall(text) for name in names if name]


def _list_texts(change: ChangedCode) -> list[str]:
    return [text for text in (change.text_before, change.text_after) if text]


def _differs(change: ChangedCode, pattern: re.Pattern[str]) -> bool:
    """Return whether a line contains other matches of a pattern than before; a new line before contained none."""
    before, after = (Counter(pattern.findall(text)) for text in (change.text_before, change.text_after))
    return before != after

"""What a commit changes in the sources, compared with an earlier commit: lines, definitions, calls and files."""

from typing import Annotated

from pydantic import Field, StringConstraints

from runner.contract.base import CommitHash, Count, Label, Strict

LineNumber = Annotated[int, Field(ge=0, le=2**31)]
LineRange = tuple[LineNumber, LineNumber]
"""The first and the last line of a range."""
MAX_CHANGED_FILES, MAX_CHANGED_RANGES, MAX_CHANGED_CALLS, MAX_CALL_SITES = 1000, 10_000, 1000, 20
"""The largest numbers of files, line ranges and calls of a change. What exceeds them is ignored."""
MAX_CHANGED_DEFINITIONS, MAX_USES, MAX_CALLS_OF_USE = 50, 500, 10
"""The largest numbers of definitions of a change, of uses of each, and of calls in a use. Definitions of a larger
change are left out."""
MAX_CHANGED_CODE, MAX_CODE_TEXT = 1000, 200
"""The largest number of changed lines whose text a request contains, and the length of each text."""


class CallSite(Strict):
    """A line that contains a call."""

    file: Label
    """The file, relative to the top of the repository."""
    line: LineNumber


class Use(Strict):
    """A line that uses a name."""

    file: Label
    """The file, relative to the top of the repository."""
    line: LineNumber
    function: Label = ""
    """The function that contains the line; empty if none does, or if it is not recognised."""
    calls: tuple[Label, ...] = Field(default=(), max_length=MAX_CALLS_OF_USE)
    """The functions that the line calls, as far as they are recognised."""


class ChangedDefinition(Strict):
    """A definition in which a change added, rewrote or removed lines: a macro, a constant, a type, a function.

    Lines that only use what is defined are not changed, but can fault more.
    """

    name: Label
    file: Label
    """The file of the first changed line of the definition, relative to the top of the repository."""
    line: LineNumber
    """The number of this line after the change."""
    value_before: Label = ""
    """The value before the change of a macro or a constant that a line gives it; empty if unknown."""
    value_after: Label = ""
    """The value after the change."""
    uses: tuple[Use, ...] = Field(default=(), max_length=MAX_USES)
    """Lines after the change that use the name, or another name that is defined with it. The lines of a changed
    function use its name as well."""


class ChangedFile(Strict):
    """A file that a change added, rewrote or removed, with its sizes in bytes."""

    file: Label
    """The path, relative to the top of the repository."""
    bytes_before: Count
    """The size before the change; 0 if the file did not exist."""
    bytes_after: Count
    """The size after the change; 0 if it removed the file."""


class ChangedCall(Strict):
    """A call in a line that a change added or rewrote."""

    callee: Label
    """The name of the called function, without its parameters."""
    caller: Label
    """The name of the function that contains the line, without its parameters."""
    file: Label
    """The file of the line, relative to the top of the repository."""
    line: LineNumber
    """The number of the line after the change."""
    caller_sites: tuple[CallSite, ...] = Field(default=(), max_length=MAX_CALL_SITES)
    """Lines after the change that call ``caller``; empty if they were not searched, or if there are too many."""


class ChangedCode(Strict):
    """The text of a line before and after a change, without comments and indentation. Untrusted, like all text."""

    file: Label
    """The file, relative to the top of the repository."""
    line: LineNumber
    """The number of the line after the change; of a removed line, that of the line in its place."""
    line_before: LineNumber = 0
    """The number of the line before the change; 0 if it is new."""
    function: Label = ""
    """The function, macro or type that contains the line; empty if it is not recognised."""
    text_before: Annotated[str, StringConstraints(max_length=MAX_CODE_TEXT)] = ""
    """The text before the change; empty if the line is new."""
    text_after: Annotated[str, StringConstraints(max_length=MAX_CODE_TEXT)] = ""
    """The text after the change; empty if the line was removed."""


class CodeChange(Strict):
    """What a change alters; a field is empty if it is unknown."""

    changed_lines: dict[Label, tuple[LineRange, ...]] = Field(default_factory=dict, max_length=MAX_CHANGED_FILES)
    """The lines that the change added or rewrote, or before which it removed lines, by file; empty if unknown."""
    removed_lines: dict[Label, tuple[LineRange, ...]] = Field(default_factory=dict, max_length=MAX_CHANGED_FILES)
    """The lines that the change removed or rewrote, with their numbers before it, by file."""
    changed_calls: tuple[ChangedCall, ...] = Field(default=(), max_length=MAX_CHANGED_CALLS)
    """The calls in the lines that the change added or rewrote, of functions that only one of these lines calls."""
    changed_definitions: tuple[ChangedDefinition, ...] = Field(default=(), max_length=MAX_CHANGED_DEFINITIONS)
    """The definitions that the change alters; empty if unknown, or if there are too many."""
    changed_code: tuple[ChangedCode, ...] = Field(default=(), max_length=MAX_CHANGED_CODE)
    """The text of the changed lines, at first those of files that were seen to run; empty if unknown."""
    changed_files: tuple[ChangedFile, ...] = Field(default=(), max_length=MAX_CHANGED_FILES)
    """The files that the change alters in more than comments, spaces and names; empty if unknown."""
    is_cosmetic: bool = False
    """Whether the change alters nothing but comments, spaces and names of variables or functions."""


class ChangeFromCommit(CodeChange):
    """What the commit of a profile alters, compared with an earlier one that was profiled as well."""

    base: CommitHash
    """The earlier commit."""

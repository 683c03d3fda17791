"""Reads what a commit changed, compared with an earlier commit: lines, the calls in them, definitions and files.

Hunks that differ only in comments, spaces and the names of variables are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.code_change import (
    MAX_CALL_SITES,
    MAX_CHANGED_CALLS,
    MAX_CHANGED_CODE,
    MAX_CHANGED_FILES,
    MAX_CHANGED_RANGES,
    CallSite,
    ChangedCall,
    ChangedCode,
    ChangedDefinition,
    ChangedFile,
    ChangeFromCommit,
    LineRange,
)
from runner.contract.profile import Profile
from runner.contract.source_files import is_source_file
from runner.errors import FaultwatchError
from runner.subject.changed_code import list_changed_code
from runner.subject.changed_definitions import (
    ChangedRange,
    FileReader,
    Site,
    Sites,
    find_changed_definitions,
    group_sites,
)
from runner.subject.code_names import find_value
from runner.subject.code_tokens import (
    MAX_CODE_CHARACTERS,
    blank_comments,
    find_renamed_names,
    is_same_code,
    list_tokens,
)
from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_FILE = re.compile(r"\+\+\+ b/([^\t]+)\t?")  # git ends a name that has a space with a tab
_CALL = re.compile(
    r"\b(?!(?:if|for|while|switch|return|sizeof|catch|defined|alignof|typeof)\b)([A-Za-z_]\w{0,199})\s*\("
)
_COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|$)|^\s*[*#].*")
"""The parts of a line of C, or a language like it, that are not code: comments, lines of a long one, directives."""
_SITE = re.compile(r"[^:]+:(.+)\0(\d+)\0(.*)")
"""What ``git grep`` prints for a line: the commit, then the file, the number and the text of the line."""
_RAW_ENTRY = re.compile(r":\d+ \d+ ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*")
_MAX_FILE_BYTES, _MAX_READ_FILES = 4_000_000, 100
"""The largest file that is read, and the largest number of files; if a change alters more, none of them is read."""
_MAX_CODE_LINES = 10_000
"""In a larger change, the text of the changed lines is not read, because the function around each is searched."""
_MAX_SEARCHED_FUNCTIONS = 50
"""The lines that call the functions around changed calls are searched only if there are at most this many functions."""
_OPTIONS = (
    *("--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--dst-prefix=b/", "--ignore-space-at-eol"),
)
"""Options of ``git diff`` that override the user's configuration, so that hunks contain only changed lines. A line of
which only the end changed, from CR LF to LF, does not count as changed."""


class SourceChange(Struct, frozen=True):
    """What a commit changed in the sources.

    Attributes
    ----------
    lines
        The ranges of changed lines, by file.
    removed_lines
        The ranges of lines that were removed or rewritten, by file, as they were numbered before.
    calls
        The calls of functions that exactly one changed line calls.
    definitions
        The definitions that contain changed lines.
    code
        The text of the changed lines; empty if there are too many.
    files
        The changed files.
    is_cosmetic
        Whether the commit changed nothing but comments, spaces and names.
    """

    lines: dict[str, tuple[LineRange, ...]] = {}
    removed_lines: dict[str, tuple[LineRange, ...]] = {}
    calls: tuple[ChangedCall, ...] = ()
    definitions: tuple[ChangedDefinition, ...] = ()
    code: tuple[ChangedCode, ...] = ()
    files: tuple[ChangedFile, ...] = ()
    is_cosmetic: bool = False

    def add_to_profile(self, profile: Profile, before: Profile) -> Profile:
        """Return a profile with this change, from the commit of an earlier profile to its own."""
        change = ChangeFromCommit(
            base=before.revision.commit,
            changed_lines=self.lines,
            removed_lines=self.removed_lines,
            changed_calls=self.calls,
            changed_definitions=self.definitions,
            changed_code=_select_code(self.code, (before, profile)),
            changed_files=self.files,
            is_cosmetic=self.is_cosmetic,
        )
        return profile.model_copy(update={"change": change})


def _select_code(code: Sequence[ChangedCode], profiles: Sequence[Profile]) -> tuple[ChangedCode, ...]:
    """Return as many changed lines as a profile may contain, those of files that were seen to run first."""
    files = {frame.file for profile in profiles for frame in profile.frames}
    return tuple(sorted(code, key=lambda line: line.file not in files)[:MAX_CHANGED_CODE])


class _Hunk(Struct, frozen=True):
    """Successive changed lines of a file.

    Attributes
    ----------
    range
        The first and last number of the added lines; if there are none, twice that of the line after the removed ones.
    function_line
        The line with which the function around them begins, according to git; empty if it knows none.
    removed_range, added_range
        The index of the first line and the number of lines, in the file before and after.
    """

    file: str
    range: LineRange
    function_line: str
    added_lines: Sequence[str]
    removed_range: tuple[int, int] = (0, 0)
    added_range: tuple[int, int] = (0, 0)


def read_source_change(repository: Repository, base: str, head: str) -> SourceChange:
    """Return how the sources of head differ from those of base; empty if git cannot compare them.

    Where lines were only removed, the line that is now in their place counts as changed.
    """
    try:
        text = repository.git("diff", *_OPTIONS, base, head, "--", decode_paths=True)
        files = _list_files(repository, base, head)
    except GitError:
        return SourceChange()
    before, after = (_CommitFiles(repository, commit) for commit in (base, head))
    hunks = list(_iterate_hunks(text.split("\n")))
    altering_hunks = _leave_out_cosmetic_hunks(hunks, before, after)
    change = _build_change(altering_hunks)
    reader = FileReader(after.list_code, partial(_find_sites, repository, head), is_source_file)
    is_small = len(change.lines) <= _MAX_READ_FILES
    ranges = [_build_range(hunk, before, after) for hunk in altering_hunks] if is_small else []
    files_without_hunks = {file.file for file in files} - {hunk.file for hunk in hunks}
    altered_files = files_without_hunks | {hunk.file for hunk in altering_hunks}
    return replace(
        change,
        calls=tuple(_add_caller_sites(repository, head, change.calls)),
        definitions=tuple(
            _add_values(definition, before, after) for definition in find_changed_definitions(ranges, reader)
        ),
        code=_list_code(altering_hunks, before, after) if is_small else (),
        files=tuple(file for file in files if file.file in altered_files)[:MAX_CHANGED_FILES],
        is_cosmetic=bool(files) and not altered_files,
    )


def _build_range(hunk: _Hunk, before: _CommitFiles, after: _CommitFiles) -> ChangedRange:
    """Return the lines of a hunk after the commit, or those that it only removed."""
    is_removed = not hunk.added_range[1]
    first, count = hunk.removed_range if is_removed else hunk.added_range
    lines = (before if is_removed else after).list_code(hunk.file)
    numbers = tuple(number for number, line in enumerate(lines[first : first + count], start=first + 1) if line)
    return ChangedRange(hunk.file, lines, numbers, hunk.range[0], is_removed=is_removed)


def _list_code(all_hunks: Sequence[_Hunk], before: _CommitFiles, after: _CommitFiles) -> tuple[ChangedCode, ...]:
    """Return the text of the changed lines of source files; empty if there are too many."""
    hunks = [hunk for hunk in all_hunks if is_source_file(hunk.file)]
    if sum(hunk.removed_range[1] + hunk.added_range[1] for hunk in hunks) > _MAX_CODE_LINES:
        return ()
    return tuple(
        line
        for hunk in hunks
        for line in list_changed_code(
            hunk.file,
            (before.list_code(hunk.file), after.list_code(hunk.file)),
            (hunk.removed_range, hunk.added_range),
            hunk.range[0],
        )
    )


def _add_values(definition: ChangedDefinition, before: _CommitFiles, after: _CommitFiles) -> ChangedDefinition:
    """Return a definition with its values before and after, if one line of its file gives it a simple value."""
    value_before, value_after = (
        find_value(files.list_code(definition.file), definition.name) for files in (before, after)
    )
    if not value_before or not value_after or value_before == value_after:
        return definition
    return definition.model_copy(update={"value_before": value_before, "value_after": value_after})


def _leave_out_cosmetic_hunks(hunks: Sequence[_Hunk], before: _CommitFiles, after: _CommitFiles) -> list[_Hunk]:
    """Return the hunks without those that differ only in comments, spaces and names."""
    hunks_by_file: defaultdict[str, list[_Hunk]] = defaultdict(list)
    for hunk in hunks:
        hunks_by_file[hunk.file].append(hunk)
    if len(hunks_by_file) > _MAX_READ_FILES:
        return list(hunks)
    remaining: list[_Hunk] = []
    for file, own_hunks in hunks_by_file.items():
        remaining += (
            _select_altering_hunks(own_hunks, before.read(file), after.read(file))
            if is_source_file(file)
            else own_hunks
        )
    return remaining


def _select_altering_hunks(hunks: Sequence[_Hunk], text_before: str, text_after: str) -> Iterable[_Hunk]:
    """Return the hunks of a file that differ in more than comments, spaces and names."""
    if not text_before or not text_after:
        return hunks
    tokens_before, tokens_after = (list_tokens(hunks[0].file, text) for text in (text_before, text_after))
    pairs = [
        (_join_tokens(tokens_before, hunk.removed_range), _join_tokens(tokens_after, hunk.added_range))
        for hunk in hunks
    ]
    renamed = find_renamed_names(pairs, frozenset(token for line in tokens_before for token in line))
    return [
        hunk for hunk, (before, after) in zip(hunks, pairs, strict=True) if not is_same_code(before, after, renamed)
    ]


def _join_tokens(lines: Sequence[Sequence[str]], lines_range: tuple[int, int]) -> tuple[str, ...]:
    """Return the tokens of a range of lines, given by the index of the first line and the number of lines."""
    first, count = lines_range
    return tuple(token for line in lines[first : first + count] for token in line)


class _CommitFiles:
    """Reads files of a commit: each only once, and at most :data:`_MAX_READ_FILES` of them."""

    def __init__(self, repository: Repository, commit: str) -> None:
        self._repository = repository
        self._commit = commit
        self._texts: dict[str, str] = {}
        self._code: dict[str, list[str]] = {}

    def read(self, file: str) -> str:
        """Return the text of a file; empty if there is none, if it is too large, or if too many files were read."""
        if file not in self._texts:
            if len(self._texts) >= _MAX_READ_FILES:
                return ""
            self._texts[file] = self._read_text(file)
        return self._texts[file]

    def list_code(self, file: str) -> list[str]:
        """Return the lines of a file without comments; the ends of lines that are too long for code are cut off."""
        if file not in self._code:
            self._code[file] = [line[:MAX_CODE_CHARACTERS] for line in blank_comments(file, self.read(file))]
        return self._code[file]

    def _read_text(self, file: str) -> str:
        blob = f"{self._commit}:{file}"
        if not 0 < _read_size(self._repository, blob) <= _MAX_FILE_BYTES:
            return ""
        try:
            text = self._repository.git("cat-file", "blob", blob)
        except FaultwatchError:
            return ""
        return "" if "\0" in text else text


def _list_files(repository: Repository, base: str, head: str) -> list[ChangedFile]:
    """Return the files that differ, with their sizes."""
    options = ("--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff")
    entries = repository.git("diff", *options, base, head, "--", decode_paths=True).split("\0")
    files = []
    for entry, file in list(zip(entries[::2], entries[1::2], strict=False))[:_MAX_READ_FILES]:
        if match := _RAW_ENTRY.fullmatch(entry):
            sizes = [_read_size(repository, blob) for blob in match.groups()]
            files.append(ChangedFile(file=file, bytes_before=sizes[0], bytes_after=sizes[1]))
    return files


def _read_size(repository: Repository, blob: str) -> int:
    """Return the size of a file; 0 if it does not exist, or is a submodule."""
    if not blob.strip("0"):
        return 0  # git writes zeros for a file that does not exist.
    try:
        return int(repository.git("cat-file", "-s", blob))
    except FaultwatchError:
        return 0


def _find_sites(repository: Repository, commit: str, names: Sequence[str]) -> Sites:
    """Return the lines of a commit that contain each of some names as a word."""
    # One expression for all names is 60 times as fast as an expression for each.
    pattern = "|".join(name.replace(".", r"\.") for name in names)
    return group_sites(_search_lines(repository, commit, "-w", "-E", "-e", f"({pattern})"), names)


def _add_caller_sites(repository: Repository, commit: str, calls: Sequence[ChangedCall]) -> Iterator[ChangedCall]:
    """Yield calls with the lines of the commit that call the function around each of them."""
    functions = sorted({call.caller for call in calls})
    sites: defaultdict[str, list[CallSite]] = defaultdict(list)
    if 0 < len(functions) <= _MAX_SEARCHED_FUNCTIONS:
        pattern = rf"\b({'|'.join(functions)})[[:space:]]*\("
        for site in _search_lines(repository, commit, "-E", "-e", pattern):
            for function in set(_CALL.findall(_COMMENT.sub("", site.text))):
                sites[function].append(CallSite(file=site.file, line=site.line))
    for call in calls:
        caller_sites = tuple(sites[call.caller])
        yield call.model_copy(update={"caller_sites": caller_sites}) if len(caller_sites) <= MAX_CALL_SITES else call


def _search_lines(repository: Repository, commit: str, *options: str) -> Iterator[Site]:
    """Yield the lines of a commit that ``git grep`` finds with some options."""
    try:
        text = repository.git("grep", "-n", "-z", "-I", *options, commit, "--", decode_paths=True)
    except FaultwatchError:
        return  # No line matches.
    for match in filter(None, map(_SITE.fullmatch, text.split("\n"))):
        yield Site(match[1], int(match[2]), match[3])


def parse_source_change(text: str) -> SourceChange:
    """Return the changed lines and calls in a diff without context, up to the number that a request may contain.

    The lines of a hunk are skipped by their number, so that a line of a source file is never taken for a heading.
    """
    return _build_change(list(_iterate_hunks(text.split("\n"))))


def _build_change(hunks: Sequence[_Hunk]) -> SourceChange:
    """Return the changed lines and calls of hunks, up to the number that a request may contain."""
    ranges: defaultdict[str, list[LineRange]] = defaultdict(list)
    removed_ranges: defaultdict[str, list[LineRange]] = defaultdict(list)
    n_ranges = 0
    for hunk in hunks:
        if n_ranges == MAX_CHANGED_RANGES:
            break
        if hunk.file in ranges or len(ranges) < MAX_CHANGED_FILES:
            ranges[hunk.file].append(hunk.range)
            index, n_removed = hunk.removed_range
            if n_removed:
                removed_ranges[hunk.file].append((index + 1, index + n_removed))
            n_ranges += 1
    return SourceChange(
        {file: tuple(file_ranges) for file, file_ranges in ranges.items()},
        {file: tuple(file_ranges) for file, file_ranges in removed_ranges.items()},
        tuple(_list_single_calls(hunks))[:MAX_CHANGED_CALLS],
    )


def _list_single_calls(hunks: Sequence[_Hunk]) -> Iterator[ChangedCall]:
    """Yield the calls of functions that exactly one added line calls, in a function that git names."""
    calls_by_callee: defaultdict[str, list[ChangedCall | None]] = defaultdict(list)
    for hunk in hunks:
        caller = _CALL.search(hunk.function_line)
        for line, text in enumerate(hunk.added_lines, start=hunk.range[0]):
            for callee in set(_CALL.findall(_COMMENT.sub("", text))):
                call = ChangedCall(callee=callee, caller=caller[1], file=hunk.file, line=line) if caller else None
                calls_by_callee[callee].append(call)
    return (calls[0] for calls in calls_by_callee.values() if len(calls) == 1 and calls[0] is not None)


def _iterate_hunks(lines: Sequence[str]) -> Iterator[_Hunk]:
    """Yield each hunk of the files that exist after the change."""
    file, index = "", 0
    while index < len(lines):
        file_match, hunk_match = _FILE.fullmatch(lines[index]), _HUNK.match(lines[index])
        if file_match:
            file = file_match[1]
        elif hunk_match:
            hunk = _parse_hunk(file, hunk_match, lines, index + 1)
            if file:
                yield hunk
            index += hunk.removed_range[1] + hunk.added_range[1]
        elif lines[index].startswith("diff --git "):
            file = ""  # The next file may be a removed one, which has no "+++ b/" heading.
        index += 1


def _parse_hunk(file: str, heading: re.Match[str], lines: Sequence[str], start: int) -> _Hunk:
    """Return the hunk of a file whose heading is matched, and whose lines begin at an index."""
    # git leaves out a count of 1.
    first_removed, n_removed, first_added, n_added = (
        1 if number is None else int(number) for number in heading.groups()[:4]
    )
    # If nothing was added, git gives the line before the removed ones.
    changed_range = (first_added, first_added + n_added - 1) if n_added else (first_added + 1, first_added + 1)
    return _Hunk(
        file=file,
        range=changed_range,
        function_line=heading[5],
        added_lines=[line[1:] for line in lines[start : start + n_removed + n_added] if line.startswith("+")],
        removed_range=(first_removed - 1, n_removed),
        added_range=(first_added - 1, n_added),
    )

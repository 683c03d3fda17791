"""Breaks the commands that CI systems execute when they find them in a job's log or test results.

GitHub's and Azure's agents compare their prefixes by the rules of a language, which ignore invisible characters: a
joiner within a prefix hides the prefix from people only. A space breaks it for every agent.
"""

import re
from itertools import pairwise
from typing import TextIO, cast

_COMMANDS_ANYWHERE = (
    r"##[\w.-]*\[",  # GitHub, Forgejo and Gitea; Azure (##vso[), TeamCity (##teamcity[), Octopus (##octopus[)
    r"\[\[[A-Z][A-Z_]*\|",  # JUnit of Jenkins and GitLab: [[ATTACHMENT|FILE]] uploads a file; of Testmo: [[PROPERTY|
    r"<(?:Dart|CTest)(?:Measuremen|Detail|Labe)\w",  # CTest uploads a file, too
    r"(?:section_start|section_end|travis_fold|travis_time):",  # GitLab, Travis
    r"SPINNAKER_(?:PROPERTY_\w+|CONFIG_JSON)=",
    r"(?:RUNDECK:DATA|PERFHERDER_DATA|TinderboxPrint):",
)
_COMMANDS_AT_LINE_START = (
    r"::",  # GitHub, Forgejo and Gitea
    r"(?:---|\+\+\+|~~~|\^\^\^)(?=[ ])",  # Buildkite's groups, which do no more than fold lines
)
_COMMAND = re.compile(
    rf"{'|'.join(_COMMANDS_ANYWHERE)}|(?:^|\r)\s*(?:{'|'.join(_COMMANDS_AT_LINE_START)})", re.MULTILINE
)
"""What begins a command of some system. Each form ends in a character that the command needs."""
_INVISIBLE_CHARACTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python holds for printable and that are shown as nothing, as variation selectors are."""
_MAX_LINE_CHARACTERS = 4096
"""How many of the last characters of a line are searched again when more of the line is written."""


def break_commands(text: str) -> str:
    """Return text with a space in each command, and without invisible characters."""
    return _COMMAND.sub(lambda match: f"{match[0][:-1]} {match[0][-1]}", _INVISIBLE_CHARACTERS.sub("", text))


def break_commands_in_json(document: str) -> str:
    """Return the same JSON document with each command for a CI system escaped in its strings.

    Only its strings can contain commands, and the last character of one is never part of an escape sequence.
    """
    visible_document = _INVISIBLE_CHARACTERS.sub(lambda match: _escape_character(match[0]), document)
    return _COMMAND.sub(lambda match: match[0][:-1] + _escape_character(match[0][-1]), visible_document)


def _escape_character(character: str) -> str:
    """Return the escape sequence of a character in JSON: one of UTF-16, or a surrogate pair."""
    utf16_bytes = character.encode("utf-16-be")
    return "".join(f"\\u{utf16_bytes[index : index + 2].hex()}" for index in range(0, len(utf16_bytes), 2))


def guard_stream(stream: TextIO) -> TextIO:
    """Return a stream that writes to another one, and breaks each command for a CI system."""
    return cast(TextIO, _GuardedStream(stream))


class _GuardedStream:
    """Breaks each command, even if it is written in several parts."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last_line = ""
        """What has been written of the last line."""

    def write(self, text: str) -> int:
        """Write text, with a space in each command; return how many characters there were to write."""
        # A command can begin in what has been written of the line.
        written_length = len(self._last_line)
        whole_text = _INVISIBLE_CHARACTERS.sub("", self._last_line + text)
        new_matches = [match for match in _COMMAND.finditer(whole_text) if match.end() > written_length]
        # A space before the last character breaks a command; it cannot stand in what has been written.
        break_positions = [max(match.end() - 1, written_length) for match in new_matches]
        bounds = [written_length, *break_positions, len(whole_text)]
        broken_text = " ".join(whole_text[start:end] for start, end in pairwise(bounds))
        self._stream.write(broken_text)
        self._last_line = (self._last_line + broken_text).rpartition("\n")[2][-_MAX_LINE_CHARACTERS:]
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

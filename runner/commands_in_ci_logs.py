"""Defuses the commands that CI systems execute if they occur in the log or the test results of a job.

The agents of GitHub and Azure compare command prefixes by linguistic rules, which ignore invisible characters. A prefix
with such a character is hidden from people, but still works. A space breaks it for every agent.
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
"""The beginning of a command of some system. It ends in a character that is essential for the command."""
_INVISIBLE_CHARACTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python considers printable although they are invisible, such as variation selectors."""
_MAX_LINE_CHARACTERS = 4096
"""How many of the last characters of a line are searched again when the line is continued."""


def break_commands(text: str) -> str:
    """Return text with a space inserted into each command, and without invisible characters."""
    return _COMMAND.sub(lambda match: f"{match[0][:-1]} {match[0][-1]}", _INVISIBLE_CHARACTERS.sub("", text))


def break_commands_in_json(document: str) -> str:
    """Return an equivalent JSON document in which an escape sequence breaks each command.

    Commands can only occur in strings, and the last character of a command is never part of an escape sequence.
    """
    visible_document = _INVISIBLE_CHARACTERS.sub(lambda match: _escape_character(match[0]), document)
    return _COMMAND.sub(lambda match: match[0][:-1] + _escape_character(match[0][-1]), visible_document)


def _escape_character(character: str) -> str:
    """Return the JSON escape sequence of a character: one UTF-16 code unit, or a surrogate pair."""
    utf16_bytes = character.encode("utf-16-be")
    return "".join(f"\\u{utf16_bytes[index : index + 2].hex()}" for index in range(0, len(utf16_bytes), 2))


def guard_stream(stream: TextIO) -> TextIO:
    """Return a stream that writes to the given one, and breaks each command for a CI system."""
    return cast(TextIO, _GuardedStream(stream))


class _GuardedStream:
    """A stream that breaks each command, even if it is written in several parts."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last_line = ""
        """The part of the last line that has been written."""

    def write(self, text: str) -> int:
        """Write text with a space inserted into each command; return the number of characters of the given text."""
        # A command can begin in the part of the line that has been written.
        written_length = len(self._last_line)
        whole_text = _INVISIBLE_CHARACTERS.sub("", self._last_line + text)
        new_matches = [match for match in _COMMAND.finditer(whole_text) if match.end() > written_length]
        # A space before the last character breaks a command. It cannot be inserted into what has been written.
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

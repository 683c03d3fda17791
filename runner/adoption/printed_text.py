"""Judges by what a program prints whether it has done any work."""

import re

_USAGE = re.compile(r"\W{0,3}usage\b", re.IGNORECASE)
_OPTION_LIST = re.compile(r"\s*(?:-h\b|--help\b|help\s{2}|.{0,60}\b(?:sub)?commands:\s*$)", re.IGNORECASE)
"""A line of a list of options or commands, or the heading of such a list."""
_HELP_HINT = re.compile(r"\b(?:try|see|run|use)\b.{0,60}[\s`'\"](?:--help|-h|help)\b", re.IGNORECASE)
_MAX_LINES = 40
"""How many lines are searched for a usage text, which may follow a banner. A longer output that merely mentions
``--help`` is not a usage text: a benchmark may have printed it."""
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_ERROR_LINE = re.compile(
    r"\W{0,3}(?:[\w./+-]{1,60}:\s*){0,3}(?:(?:fatal|parse|syntax) ?)?error\b(?!\s*[:=]?\s*[-+.\d])", re.IGNORECASE
)
"""A line that begins with an error message, perhaps after names, but with no number: that may be a result."""
_MAX_ERROR_LINES = 2
_NO_TERMINAL = re.compile(
    r"inappropriate ioctl|not a (?:tty|terminal)|\bTERM\b.*\b(?:not set|unset|variable)|opening terminal", re.IGNORECASE
)
_UNOPENED = re.compile(r"(?:open|read|find|load)\b|no such file|not found|missing|does not exist", re.IGNORECASE)
_FILE_NAME = re.compile(r"[\w+-][\w.+-]{0,100}(?:/[\w.+-]{1,100}){0,5}")
_MAX_NAMES = 20
_MISSING_CODE = re.compile(
    r"\bNo module named '?([\w.]+)|\bCannot find (?:module|package) '([^'\n]+)"
    r"|\berror while loading shared libraries: ([^\s:]+)|\bCould not find or load main class (\S+)"
)
"""What Python, Node.js, the dynamic linker and Java print about code that they do not find."""
_MISSING_LIBRARY = re.compile(r"\berror while loading shared libraries: ([\w.+-]+):")
_MISSING_MODULE = re.compile(r"^.*\bNo module named '?([\w.]+).*$", re.MULTILINE)


def is_usage(text: str) -> bool:
    """Return whether a program has printed only its usage."""
    lines = [line for line in text.splitlines() if line.strip()]
    if any(_USAGE.match(line) or _OPTION_LIST.match(line) for line in lines[:_MAX_LINES]):
        return True
    return len(lines) <= _MAX_LINES and any(map(_HELP_HINT.search, lines))


def reports_error(text: str) -> bool:
    """Return whether a program has printed an error message, for example about unsuitable input."""
    return bool(_ERROR.search(text))


def prints_error_line(text: str) -> bool:
    """Return whether a line of what a program has printed begins with an error message.

    Unlike :func:`reports_error`, it ignores results that contain the word, such as ``max error 1e-6``.
    """
    return any(map(_ERROR_LINE.match, text.splitlines()))


def find_only_error(text: str) -> str:
    """Return the error message of a program that has printed hardly anything else; empty if it printed more."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next(filter(_ERROR_LINE.match, lines), "") if len(lines) <= _MAX_ERROR_LINES else ""


def find_unopened_files(text: str) -> list[str]:
    """Return words that may be the names of files which a program said it cannot open."""
    lines = [line for line in text.splitlines()[:_MAX_LINES] if _UNOPENED.search(line)]
    return [word.rstrip(".") for line in lines for word in _FILE_NAME.findall(line)][:_MAX_NAMES]


def needs_terminal(text: str) -> bool:
    """Return whether a program has said that it cannot work without a terminal."""
    return bool(_NO_TERMINAL.search(text))


def find_missing_module(text: str) -> tuple[str, str]:
    """Return the Python module that a program failed to import, and the line that says so.

    The line may come from another program that the measured program started.
    """
    match = _MISSING_MODULE.search(text)
    return (match[1].partition(".")[0], match[0].strip()) if match else ("", "")


def find_missing_library(text: str) -> str:
    """Return the shared library that the dynamic linker does not find; empty if it names none."""
    match = _MISSING_LIBRARY.search(text)
    return match[1] if match else ""


def find_missing_code(text: str) -> str:
    """Return the module, library or class without which a program cannot start; empty if it names none."""
    match = _MISSING_CODE.search(text)
    return next(filter(None, match.groups())) if match else ""

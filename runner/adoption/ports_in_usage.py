"""Finds the arguments that tell a server its port, in the usage that it prints."""

import re
from collections.abc import Sequence
from itertools import pairwise

_USAGE = re.compile(r"\W{0,3}usage\b(?: of \S+:$)?[\s:]*(.*)", re.IGNORECASE)
_MAX_LINES, _MAX_LINE_CHARACTERS = 200, 500
_MAX_VARIANTS = 4
"""How many ways to tell the port are tried."""
_WORD = re.compile(r"\[[^\]]*\]?[^\s\[]*|<[^>]*>?[^\s\[]*|[^\s\[]+")
"""A word of a usage: an optional part in brackets, a part in angle brackets, or anything else without a space."""
_OPTIONS = re.compile(r"\W*(?:options?|opts?|flags?|switches|args|arguments)?\W*", re.IGNORECASE)
"""A word that stands for options, or an ellipsis."""
_DESCRIPTION = re.compile(r"(?:\[[^\]]*\]|<[^>]*>)(?:\s{2,}|\t\s*|:\s+|\s[-:=]\s+)(?![\s\[<])")
"""The beginning of a line that describes an argument, and does not continue the usage."""
_SCRIPT_SUFFIXES = (".py", ".js", ".jar", ".rb", ".sh")
_PORT_NAME = r"(?:(?!connect|remote|target|peer|dest)\w{1,20}[-_ ])?port(?:[-_ ]?(?:no|num|number))?"
_ADDRESS_NAME = r"(?:(?:bind|listen|server)[-_ ]?)?(?:host|addr|address|ip|interface)(?:[-_ ]?(?:name|addr|address))?"
_PLACEHOLDERS = (
    (_PORT_NAME, "{port}"),
    (rf"(?:{_ADDRESS_NAME})?:{_PORT_NAME}", "127.0.0.1:{port}"),
    (_ADDRESS_NAME, "127.0.0.1"),
    (r"\S*(?:dir|directory|folder|root|path)", "."),
    (r"(?:(?:n|num|number|max)[-_ ]?(?:of[-_ ])?)?(?:threads|workers|processes|clients|connections)", "1"),
)
"""Names of a usage, in lower case, and what takes their place."""
_OPTION = re.compile(r"(?<![\w-])(-{1,2}[a-zA-Z][\w-]{0,40})(?:(=|[ \t])\[?<?\[?([a-zA-Z:][\w:.-]{0,40}))?")
"""An option, its separator, and the word after it, which may stand for its value, as three groups."""
_OPTION_NAME = re.compile(r"-{1,2}[a-zA-Z][\w-]{0,40}")
_PORT_OPTION = re.compile(rf"-{{1,2}}{_PORT_NAME}", re.IGNORECASE)
_LISTENS = re.compile(
    r"\bport\b.{0,80}\blisten|\blisten.{0,80}\bport\b|\bport[ -]number\b|\bserver port\b", re.IGNORECASE
)
"""The description of an option that sets the port on which a server listens."""
_DEFAULT_ADDRESS = re.compile(r"\blisten.{0,80}:\d{2,5}\b", re.IGNORECASE)
"""The description of an option that sets an address with a port."""


def list_port_arguments(text: str, port: int) -> list[str]:
    """Return the arguments that may let a program listen on a port, by a text in which it describes its arguments.

    The text may name the port by its place (``usage: srv HOST PORT``) or as an option (``--port PORT``). Nothing is
    returned if the program requires arguments of unknown meaning.
    """
    lines = [line[:_MAX_LINE_CHARACTERS].rstrip() for line in text.splitlines()[:_MAX_LINES]]
    usages = _list_usages(lines)
    options = _list_port_options(lines)
    variants: list[str] = []
    for usage in usages:
        arguments = _fill_in_usage(usage)
        if arguments is None:
            continue
        if "{port}" in arguments:
            variants.append(arguments)
        variants += [f"{option} {arguments}".strip() for option in options if "{port}" not in arguments]
    if not usages:
        variants += options
    return [variant.replace("{port}", str(port)) for variant in list(dict.fromkeys(variants))[:_MAX_VARIANTS]]


def _list_usages(lines: Sequence[str]) -> list[list[str]]:
    """Return the words of each usage, without the name of the program."""
    usages = []
    for number, line in enumerate(lines):
        match = _USAGE.match(line)
        if match is None:
            continue
        # The usage may be on the next line.
        rest = list(lines[number + 1 :])
        usage, column = match[1], match.start(1)
        if not usage and not line.startswith("Usage of ") and rest:  # Go prints only its options after "Usage of"
            next_line = rest.pop(0)
            usage = next_line.lstrip()
            column = len(next_line) - len(usage)
        # It continues on lines that begin with a bracket, or in the same column as its first word after the program's
        # name, as Python's argparse aligns the required arguments.
        program = re.match(r"\S+\s+", usage)
        argument_column = column + program.end() if program else 0
        for next_line in rest:
            next_words = next_line.lstrip()
            is_aligned = len(next_line) - len(next_words) == argument_column
            if not next_line.startswith(" ") or not (is_aligned or next_words.startswith(("[", "<"))):
                break
            if _DESCRIPTION.match(next_words):
                break
            usage += next_line
        words = _WORD.findall(usage)[1:]
        # "python3 server.py PORT", "java -jar server.jar PORT"
        while words and (words[0] == "-jar" or words[0].endswith(_SCRIPT_SUFFIXES)):
            del words[0]
        usages.append(words)
    return usages


def _fill_in_usage(words: Sequence[str]) -> str | None:
    """Return the arguments that a usage requires, and an optional port, with ``{port}`` for the port.

    None if the meaning of a required argument is unknown.
    """
    arguments: list[str] = []
    for word in words:
        if word.startswith("(") or word in {"-", "--", "#", "//"}:
            break  # a remark after the usage
        if word.startswith("["):
            option = _find_port_option(word, description="")
            if option and "{port}" not in " ".join(arguments):
                arguments.append(option)
            elif not word.startswith("[-"):
                # Of the optional arguments, only the port is needed.
                value = _fill_in_name(word)
                arguments += [value] if value and "{port}" in value else []
            continue
        if _OPTIONS.fullmatch(word):
            continue
        if word.startswith("-"):
            name, equals, value_name = word.partition("=")
            value = _fill_in_name(value_name)
            if (equals and value is None) or not _OPTION_NAME.fullmatch(name):
                return None
            arguments.append(f"{name}={value}" if equals else name)
            continue
        value = _fill_in_name(word)
        if value is None:
            return None
        arguments.append(value)
    return " ".join(arguments)


def _fill_in_name(word: str) -> str | None:
    """Return what takes the place of a name in a usage; None if its meaning is unknown."""
    name = word.lower().strip("<>[]{}()\"'.,;|")
    return next((value for pattern, value in _PLACEHOLDERS if re.fullmatch(pattern, name)), None)


def _list_port_options(lines: Sequence[str]) -> list[str]:
    """Return the options that set the port, with ``{port}`` for the port: those that are named after it first."""
    options = []
    for line, next_line in pairwise([*lines, ""]):
        if _is_option_line(line):
            # Some programs describe an option in the next line, which is indented further.
            description = line if _is_option_line(next_line) else f"{line} {next_line.strip()}"
            options.append(_find_port_option(line, description))
    return sorted(filter(None, options), key=lambda option: _PORT_OPTION.match(option) is None)


def _is_option_line(line: str) -> bool:
    return line.lstrip().startswith("-")


def _find_port_option(line: str, description: str) -> str:
    """Return the option of a line that sets the port, with ``{port}`` for the port; empty if there is none."""
    matches = list(_OPTION.finditer(line))  # The groups are an option, its separator, and the name of its value.
    for match in matches:
        if _PORT_OPTION.fullmatch(match[1]):
            return f"{match[1]}{'=' if match[2] == '=' else ' '}{{port}}"
    for match in matches[:2]:  # further options are mentioned in the description
        value = _fill_in_name(match[3] or "")
        if value and "{port}" in value:
            return f"{match[1]}{'=' if match[2] == '=' else ' '}{value}"
    if matches and _DEFAULT_ADDRESS.search(description):
        return f"{matches[0][1]} 127.0.0.1:{{port}}"
    # The usual letter for a port may have another meaning, unless the description says that the server listens there.
    if matches and matches[0][1] in {"-p", "-P"} and _LISTENS.search(description):
        return f"{matches[0][1]} {{port}}"
    return ""

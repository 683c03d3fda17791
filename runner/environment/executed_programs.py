"""Finds the programs that a build command or a measured command executes.

Only two kinds of words in a command count: those where a shell expects a program, and those that name a tool for the
build (``CC=gcc-14``). So ``make install`` executes ``make``, but not the program ``install``.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

_WORD = r"""(?:'[^']*' | "(?:\\.|[^"\\])*" | \$\((?:[^()]|\([^()]*\))*\) | `[^`]*` | \\. | [^\s;&|()<>'"`\\])+"""
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r]+|\\\n) | (?P<comment>(?<![^\s;&|()])\#[^\n]*) | (?P<between>[;&|()\n])
    | (?P<redirection>\d*(?:&>>?|<<<|<<-?|>>|[<>]&|<>|>\||[<>])[ \t]*(?:{_WORD})?) | (?P<word>{_WORD})""",
    re.VERBOSE,
)
_SUBSTITUTION = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_SHELLS = {"sh", "bash", "dash", "ksh", "zsh", "ash"}
_SHELL_KEYWORDS = {"if", "then", "else", "elif", "while", "until", "do", "!", "{"}
"""Keywords of the shell that are followed by a command."""
_BUILT_IN = {
    *("fi", "done", "esac", "}", "for", "case", ".", ":", "[", "break", "cd", "continue", "echo", "export"),
    *("exit", "false", "kill", "popd", "printf", "pushd", "pwd", "read", "return", "set", "shift", "source", "test"),
    *("trap", "true", "type", "ulimit", "umask", "unset", "wait", "local", "alias", "hash", "getopts"),
}
"""Words of the shell that start no program."""
_TRANSPARENT_BUILTINS = {"exec", "command", "builtin", "eval", "time"}
"""Built-in commands of the shell that execute the command in their arguments."""
_WRAPPERS = {
    *("ccache", "chrt", "distcc", "env", "ionice", "linux32", "linux64", "nice", "nohup", "numactl", "sccache"),
    *("setarch", "setsid", "stdbuf", "sudo", "taskset", "timeout", "unshare", "xargs", "xvfb-run"),
}
"""Programs that execute another program, which is among their arguments."""
_EXEC_OPTIONS = {"-exec", "-execdir", "-ok"}
"""Options of ``find`` that are followed by a program."""
_ASSIGNMENT = re.compile(r"(?:-D)?([A-Za-z_]\w*)(?::\w+)?\+?=(.*)", re.DOTALL)
_TOOL_VARIABLE = re.compile(
    r"(?:HOST_?|BUILD_?|TARGET_?)?(?:CC|CXX|CPP|FC|F77|F90|LD|AR|AS|NM|RANLIB|STRIP|OBJCOPY)"
    r"|MAKE|PERL|PYTHON\d?|LEX|YACC|CARGO|GO|RUSTC|RUSTC(?:_WORKSPACE)?_WRAPPER|CMAKE_GENERATOR_TOOLCHAIN"
    r"|CMAKE_\w+_COMPILER(?:_LAUNCHER)?|CMAKE_(?:LINKER|MAKE_PROGRAM|AR|RANLIB|NM|STRIP)"
    r"|CARGO_TARGET_\w+_LINKER"
)


def find_executed_programs(
    command: Sequence[str], environment: Mapping[str, str], is_program: Callable[[str], bool]
) -> set[str]:
    """Return the names of the programs that a command executes, and of those that its variables name as tools.

    Parameters
    ----------
    is_program
        Returns whether a word is the name of a program. It finds the program among the arguments of a wrapper such as
        ``nice`` or ``timeout``.
    """
    assignments = (f"{name}={value}" for name, value in environment.items())
    tools = (tool for assignment in assignments for tool in _find_named_tools(assignment))
    return {*_list_command_programs(list(command), is_program, in_shell=False), *tools}


def find_script_programs(script: str, is_program: Callable[[str], bool]) -> set[str]:
    """Return the names of the programs that a shell script may execute."""
    return set(_list_script_programs(script, is_program))


def _list_command_programs(words: list[str], is_program: Callable[[str], bool], *, in_shell: bool) -> Iterator[str]:
    """Yield the programs that one command executes.

    The words have no quotes any more. With ``in_shell``, a shell executes the command, and the shell's own commands
    are not programs.
    """
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        yield from _find_named_tools(word)
        if _ASSIGNMENT.fullmatch(word) or (in_shell and word in _SHELL_KEYWORDS | _TRANSPARENT_BUILTINS):
            if words[index : index + 1] == ["-p"]:  # an option of time and command
                index += 1
            continue
        if in_shell and word == "function":
            index += 1  # The name of the function follows, then its commands.
            continue
        if in_shell and word in _BUILT_IN:
            return
        name = _get_program_name(word)
        yield name
        if name in _SHELLS:
            yield from _list_shell_programs(words[index:], is_program)
            return
        if name == "find":
            for option, program in pairwise(words):
                if option in _EXEC_OPTIONS:
                    yield _get_program_name(program)
        # Skip the arguments; of a wrapper only its options: continue with the first argument that is a program.
        while index < len(words) and not (name in _WRAPPERS and is_program(_get_program_name(words[index]))):
            yield from _find_named_tools(words[index])
            index += 1


def _list_shell_programs(arguments: Iterable[str], is_program: Callable[[str], bool]) -> Iterator[str]:
    """Yield what a shell with these arguments executes: the programs in its ``-c`` script, or its script file."""
    is_script_text = False  # Whether -c precedes, so that the first argument after the options is a script itself.
    remaining_arguments = iter(arguments)
    for word in remaining_arguments:
        if not word.startswith(("-", "+")):
            if is_script_text:
                yield from _list_script_programs(word, is_program)
            else:
                yield word if "/" in word else f"./{word}"  # With a slash, it is a file, never a program of the host.
            return
        if not word.startswith("--"):  # Letters in one word are options of their own, as in -euo pipefail.
            is_script_text = is_script_text or (word.startswith("-") and "c" in word)
            if "o" in word.lower():  # The name of the shell's option follows -o and -O.
                next(remaining_arguments, None)


def _list_script_programs(script: str, is_program: Callable[[str], bool]) -> Iterator[str]:
    """Yield the programs that a shell script may execute, including those in command substitutions."""
    words: list[str] = []
    for token in _TOKEN.finditer(script):
        if token.lastgroup == "between":
            yield from _list_command_programs(words, is_program, in_shell=True)
            words = []
        elif token.lastgroup == "word":
            words.append(re.sub(r"['\"]|\\(?=.)", "", token[0], flags=re.DOTALL))
        if not token[0].startswith("'"):  # Within single quotes, nothing is substituted.
            for substitution in _SUBSTITUTION.finditer(token[0]):
                yield from _list_script_programs(substitution[1] or substitution[2] or "", is_program)
    yield from _list_command_programs(words, is_program, in_shell=True)


def _find_named_tools(word: str) -> Iterator[str]:
    """Yield the programs that an assignment to a tool variable names, such as ``CC=ccache gcc-14 -m32``."""
    setting = _ASSIGNMENT.fullmatch(word)
    if setting and _TOOL_VARIABLE.fullmatch(setting[1]):
        yield from (_get_program_name(part) for part in setting[2].strip("'\"").split() if not part.startswith("-"))


def _get_program_name(word: str) -> str:
    """Return a program's name; a relative path (``./configure``) stays, because it names no program of the host."""
    return PurePosixPath(word).name if word.startswith("/") else word

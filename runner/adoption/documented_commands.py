"""Finds commands with files of the project in its documents, makefiles and CI files: the work that users do."""

import re
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath

from msgspec import Struct

from runner.adoption.input_files import is_about_project, is_in_input_folder, is_kept_as_input, list_stand_ins
from runner.adoption.size_arguments import fill_in_sizes
from runner.adoption.sources import MAX_DEPTH, Sources, is_plain_path, is_third_party

_DOCUMENT_NAME = re.compile(
    r"readme|tutorial|quick_?-?start|getting[_-]?started|usage|manual|example|demo|bench|install", re.IGNORECASE
)
_DOCUMENT_SUFFIXES = frozenset({"", ".md", ".markdown", ".mkd", ".rst", ".txt", ".org", ".adoc", ".first"})
_SCRIPT_SUFFIXES = frozenset({".sh", ".bash", ".mk"})
_RUNNING_SCRIPT = re.compile(
    r"(?<![a-z])(?:run|tests?|checks?|bench\w*|perf\w*|examples?|demos?|measure|time|profile)(?![a-z])", re.IGNORECASE
)
"""Names of scripts that show the work of the project's programs. Others may use a program as a step of the build."""
_MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile", "Makefile.am", "Makefile.in"})
_CI_FILE = re.compile(r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml|\.travis\.yml|\.circleci/config\.yml")
_MAX_DOCUMENTS = 20
_MAX_LINE_CHARACTERS, _MAX_WORDS = 400, 24
_MAX_COMMANDS = 4
"""The largest number of commands that are returned for a program."""
_LINE_START = re.compile(r"^[\s@+-]*(?:run:\s*|(?:e\.?g|ex(?:ample)?s?)[:.]+\s+)?(?:[$%>#]\s+)?", re.IGNORECASE)
"""What can precede a command in a line: the indentation of a recipe, the key of a CI file, a prompt, "e.g."."""
_VARIABLE = r"\$(?:\(\w+\)|\{\w+\})"
_LAUNCHER = r"(?:mpirun|mpiexec|srun)(?:\s+-np?\s+\S+)?|time|\w*THREADS=\d+|go run"
_BEFORE_PROGRAM = re.compile(rf"\s*(?:(?:{_VARIABLE}|{_LAUNCHER})\s+)+")
"""What may stand before a program: variables of a makefile, which usually are empty (``$(EMULATOR) ./program``), and
what starts it as several processes or threads, or builds it first. It is measured as a single process."""
_TRAILING_VARIABLES = re.compile(rf"(?:{_VARIABLE})+$")
"""Variables of a makefile after the name of a program, as in ``./program$(EXE)``."""
_QUOTED_PART = re.compile(r"``([^`]+)``|`((?:[^`']|'[^'`]*')+)`|`([^`']+)'|'([^']+)'")
"""A command within a sentence. Between backticks, it may contain quotes itself."""
_RESULT_END = re.compile(r"\s+ran$")
"""The end of a line in which hyperfine names the quickest command."""
_CONTINUATION = re.compile(r"\\\n\s*")
_PLACEHOLDER = "..."
_VARIABLE_FOLDER = re.compile(r"(?:\$\{?\w+\}?|\$\(\w+\)|~|\.{1,2}|/?path/to)/")
"""A folder at the beginning of a path that stands for a folder of the project."""
_OUTPUT_OPTION = re.compile(r"-(?:[oOSw]|-?\w*(?:out|save|write|model|prefix|dest)[\w-]*)", re.IGNORECASE)
_INPUT_OPTION = re.compile(r"--?i(?:n(?:put[\w-]*|file)?)?", re.IGNORECASE)
_REDIRECTION = re.compile(r"(?:[12&]?>>?|(?P<sign><))(?P<target>&?[^<>&]*)$")
_FILE_NAME = re.compile(r"[\w.+-]*\.[a-zA-Z]\w*")
_TEXT_SUFFIXES = frozenset({".txt", ".text", ".log", ".md"})
"""Suffixes of files that any text can replace."""
_REFUSED_WORD = re.compile(
    r"(?:un)?install|publish|push|upload|deploy|login|serve|server|daemon|remove|delete|rm|clean|https?:.*",
    re.IGNORECASE,
)
"""Words of commands that change something outside their folder, do not end, or need the network."""
_NUMBER = re.compile(r"(?=.*\d)[\d.,:eE+-]+")
_OPTION = re.compile(r"--?[a-zA-Z]")
_PRINTS_TEXT = re.compile(r"\s*(?:echo|printf)\s")
"""The beginning of a command that writes a text for the next one, which reads it."""


class DocumentedCommand(Struct, frozen=True):
    """A command of a document, for one of the project's programs.

    Attributes
    ----------
    arguments
        Its arguments, in which the files have their paths from the top. None of them needs quotes.
    file
        The first file of the project that it reads; empty if it reads a text, or computes with sizes alone.
    standard_input
        The file that it gets as its standard input; empty if there is none.
    input_command
        The command that writes the text which it reads, such as ``echo word``; empty if there is none.
    reads_changed_file
        Whether one of its files has changed lately, so that a later change may move its count.
    is_substitute
        Whether the file replaces one that only the reader of the document has.
    """

    arguments: tuple[str, ...]
    file: str
    standard_input: str = ""
    input_command: str = ""
    reads_changed_file: bool = False
    is_substitute: bool = False


def list_documented_commands(sources: Sources, programs: Sequence[str]) -> dict[str, list[DocumentedCommand]]:
    """Return the commands that documents of the project show for its programs, by program, in their order.

    Those with a file that has changed lately come last, and after them those in which a file of the project takes the
    place of a single one that only the reader has. Only commands with a file of the project, with a text that ``echo``
    writes, or with the sizes of a computation are returned, and none with another file to read or a placeholder of
    anything but a size.

    Parameters
    ----------
    programs
        Paths of programs. If several have the same file name, the first one is assumed to be meant.
    """
    program_by_name: dict[str, str] = {}
    for program in programs:
        program_by_name.setdefault(PurePosixPath(program).name, program)
    found: defaultdict[str, dict[DocumentedCommand, None]] = defaultdict(dict)
    if not program_by_name:
        return {}
    finder = _FileFinder(sources)
    for document in list_documents(sources):
        folder = PurePosixPath(document).parent
        for name, input_command, text in _list_command_texts(sources.read_text(document), program_by_name):
            program = program_by_name[name]
            for filled_text in fill_in_sizes(text):
                command = _parse_command(filled_text, input_command, folder, finder)
                if command and command.file not in programs and not _is_build_step(document, command):
                    found[program][command] = None
    return {program: _select_commands(list(commands)) for program, commands in found.items() if commands}


def _select_commands(commands: Sequence[DocumentedCommand]) -> list[DocumentedCommand]:
    """Return the first few commands with files that stay the same; the last may be the first one with a benchmark."""
    ordered = sorted(commands, key=lambda command: (command.is_substitute, command.reads_changed_file))
    selected, rest = ordered[:_MAX_COMMANDS], ordered[_MAX_COMMANDS:]
    has_benchmark = any(map(_reads_benchmark, selected))
    benchmark = None if has_benchmark else next(filter(_reads_benchmark, rest), None)
    return [*selected[:-1], benchmark] if benchmark else selected


def _reads_benchmark(command: DocumentedCommand) -> bool:
    """Return whether the file of a command is a benchmark, which does more work than a test."""
    return "bench" in PurePosixPath(command.file).name.lower()


def _is_build_step(document: str, command: DocumentedCommand) -> bool:
    """Return whether a command of a script may process the project's own sources: none of them is kept as an input."""
    path = PurePosixPath(document)
    is_helper_script = path.suffix in _SCRIPT_SUFFIXES and not _RUNNING_SCRIPT.search(path.name)
    return is_helper_script and bool(command.file) and not is_in_input_folder(command.file)


def list_help_commands(sources: Sources, program: str, help_text: str) -> list[DocumentedCommand]:
    """Return the commands that the help of a program shows as examples.

    Parameters
    ----------
    program
        The path of the program.
    """
    finder, project_folder = _FileFinder(sources), PurePosixPath()
    name = PurePosixPath(program).name
    # The help of a variant, such as pack_static, shows the name of the usual program.
    names = {name, *(name.rpartition(separator)[0] for separator in "_-")} - {""}
    texts = _list_command_texts(help_text, names)
    commands = (_parse_command(text, input_command, project_folder, finder) for _, input_command, text in texts)
    return list(dict.fromkeys(command for command in commands if command and command.file))[:_MAX_COMMANDS]


class _FileFinder:
    """Finds the file of the project that a word of a command means."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    @cached_property
    def _paths_by_name(self) -> Mapping[str, list[str]]:
        """The paths of the files, by file name."""
        paths_by_name = defaultdict(list)
        for file in self._sources.files:
            paths_by_name[file.rpartition("/")[2]].append(file)
        return paths_by_name

    def find(self, word: str, folder: PurePosixPath) -> str:
        """Return the path of a file from the top; empty if a word in a document of ``folder`` means none."""
        path = word
        while match := _VARIABLE_FOLDER.match(path):
            path = path[match.end() :]
        if not is_plain_path(path) or path.startswith(("/", "-")):
            return ""
        for candidate in (str(folder / path), path):
            if self._sources.has(candidate):
                return self._accept(candidate)
        if "." not in path:
            return ""
        # The document may assume another current folder. A single file with such a path is meant.
        matches = [
            file for file in self._paths_by_name.get(path.rpartition("/")[2], ()) if f"/{file}".endswith(f"/{path}")
        ]
        return self._accept(matches[0]) if len(matches) == 1 else ""

    def find_substitute(self, name: str) -> str:
        """Return the file of the project that replaces a missing one; empty if none is like it.

        It is an input with the same suffix; a text can also be replaced by the license.
        """
        suffix = PurePosixPath(name).suffix.lower()
        inputs = [file for file in self._sources.files if suffix and file.endswith(suffix) and is_kept_as_input(file)]
        unchanged_inputs = [file for file in inputs if not self.has_changed(file)]
        stand_ins = list_stand_ins(self._sources) if suffix in _TEXT_SUFFIXES else []
        return next(iter([*unchanged_inputs, *inputs, *stand_ins]), "")

    def is_prefix_of_files(self, path: str) -> bool:
        """Return whether several files begin with a path and a dot, as the files of an index do."""
        return is_plain_path(path) and sum(file.startswith(f"{path}.") for file in self._sources.files) > 1

    def has_changed(self, file: str) -> bool:
        """Return whether one of the newest commits has changed a file."""
        return file in self._sources.changed_files

    def _accept(self, file: str) -> str:
        """Return a file that may be an input; empty if it is about the project, or if its path needs quotes."""
        return file if is_plain_path(file) and not is_about_project(file) else ""


def list_documents(sources: Sources) -> list[str]:
    """Return the files that show commands: documents first, those near the top before others."""

    def may_show_commands(file: str) -> bool:
        """Return whether a file is a CI configuration, a document near the top, a makefile or a script."""
        path = PurePosixPath(file)
        if _CI_FILE.fullmatch(file):
            return True
        if file.count("/") > MAX_DEPTH or is_third_party(file):
            return False
        is_document = path.suffix.lower() in _DOCUMENT_SUFFIXES and bool(_DOCUMENT_NAME.search(path.name))
        return is_document or path.name in _MAKEFILES or path.suffix in _SCRIPT_SUFFIXES

    def rank(file: str) -> tuple[bool, int, str]:
        is_document = bool(_DOCUMENT_NAME.search(PurePosixPath(file).name))
        return not is_document, file.count("/"), file

    return sorted(filter(may_show_commands, sources.files), key=rank)[:_MAX_DOCUMENTS]


def _list_command_texts(text: str, names: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the parts of a text that may be commands of the named programs, each after the program's name.

    The parts are whole lines, and quoted parts of them. The second element of each triple is the command that writes
    what the program reads; it is empty if there is none.
    """
    for line in _CONTINUATION.sub(" ", text).splitlines():
        if len(line) > _MAX_LINE_CHARACTERS:
            continue
        parts = [_RESULT_END.sub("", _LINE_START.sub("", line))]
        parts += [part for match in _QUOTED_PART.finditer(line) for part in match.groups() if part]
        for part in parts:
            # A chain of commands is several commands.
            for step in re.split(r"&&|;|\|\|", part):
                before_pipe, _, after_pipe = step.partition("|")
                input_command, command = (before_pipe, after_pipe) if _PRINTS_TEXT.match(step) else ("", step)
                start = _BEFORE_PROGRAM.match(command)
                program_command = command[start.end() :] if start else command
                first_word = "".join(program_command.split(maxsplit=1)[:1])
                name = _TRAILING_VARIABLES.sub("", first_word).rpartition("/")[2]
                if name in names:
                    yield name, input_command, program_command


def _parse_command(
    text: str, input_command: str, folder: PurePosixPath, finder: _FileFinder
) -> DocumentedCommand | None:
    """Parse a command line that begins with its program; None if it cannot be executed without a change.

    Parameters
    ----------
    input_command
        The command that writes what the program reads; empty if there is none.
    folder
        The folder of the document.
    """
    words = _split_words(text)
    return _parse_arguments(words[1:], folder, finder, _quote_input_command(input_command)) if words else None


def _split_words(text: str) -> list[str]:
    """Return the words of a command without comments, and up to a pipe; empty if quotes are not closed."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return []
    return words[: words.index("|")] if "|" in words else words


def _quote_input_command(text: str) -> str:
    """Return a command that writes a text, with quotes where it needs them; empty if it needs more than quotes."""
    words = _split_words(text)
    return shlex.join(words) if words and all(map(str.isprintable, words)) and not set(text) & set("$`\\<>") else ""


def _parse_arguments(
    words: Sequence[str], folder: PurePosixPath, finder: _FileFinder, input_command: str
) -> DocumentedCommand | None:
    """Return the arguments of a command with the paths of its files; None if it cannot be executed without a change.

    Parameters
    ----------
    input_command
        The command that writes what the program reads; empty if there is none.
    """
    if len(words) > _MAX_WORDS:
        return None
    arguments: list[str] = []
    files: list[str] = []
    standard_input = previous = ""
    is_substitute = False
    remaining_words = iter(words)
    for word in remaining_words:
        redirection = _REDIRECTION.match(word)
        if redirection:
            target = redirection["target"] or next(remaining_words, "")
            if redirection["sign"]:
                standard_input = finder.find(target, folder)
                if not standard_input:
                    return None
            continue  # What a command prints is not kept.
        option, separator, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if option and not is_plain_path(option):
            return None
        file = finder.find(value, folder)
        if file:
            files.append(file)
            arguments.append(f"{option}{separator}{file}")
        elif finder.is_prefix_of_files(value):
            arguments.append(word)
        elif _needs_something_else(word):
            return None
        elif _may_be_missing_file(value, option or previous, is_last=word is words[-1]):
            file = "" if files or "/" in value else finder.find_substitute(value)
            if not file:
                return None
            is_substitute = True
            files.append(file)
            arguments.append(f"{option}{separator}{file}")
        else:
            arguments.append(word)
        previous = word
    file = next(iter(files), standard_input)
    has_work = bool(file or input_command) or _gives_sizes(arguments)
    reads_changed_file = any(map(finder.has_changed, (*files, standard_input)))
    return (
        DocumentedCommand(tuple(arguments), file, standard_input, input_command, reads_changed_file, is_substitute)
        if has_work
        else None
    )


def _gives_sizes(arguments: Sequence[str]) -> bool:
    """Return whether arguments are options with numbers, such as ``-n 50 50 50``: the sizes of a computation."""
    has_options = any(map(_OPTION.match, arguments))
    values = [argument.rpartition("=")[2] for argument in arguments if not argument.startswith("-") or "=" in argument]
    return has_options and bool(values) and all(map(_NUMBER.fullmatch, values))


def _needs_something_else(word: str) -> bool:
    """Return whether a word needs a shell, stands for something that the reader fills in, or does more than compute."""
    return not is_plain_path(word) or _PLACEHOLDER in word or _REFUSED_WORD.fullmatch(word) is not None


def _may_be_missing_file(value: str, option: str, *, is_last: bool) -> bool:
    """Return whether a word names a file to read that the project lacks, rather than one to write or no file.

    Parameters
    ----------
    value
        The word, or the value in a word such as ``--input=VALUE``.
    option
        The option in this word, or else the word before it. The last word of a command is taken for a file to write,
        unless its option says that it is read.
    """
    if value.startswith("-") or _NUMBER.fullmatch(value):
        return False
    if "/" in value:
        return True  # Even a file to write would need its folder.
    if not _FILE_NAME.fullmatch(value):
        return False
    return bool(_INPUT_OPTION.fullmatch(option)) or not (is_last or _OUTPUT_OPTION.fullmatch(option))

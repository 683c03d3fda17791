"""Finds files of a project that its programs can read: files that are kept as inputs, and stand-ins for them."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from runner.adoption.own_code import is_source
from runner.adoption.sources import Sources, is_plain_path, is_third_party

_STAND_INS = ("LICENSE", "COPYING", "LICENSE-APACHE", "LICENSE-MIT"), ("README",)
"""Stand-ins, one of each kind. The kind that hardly ever changes comes first: a program reads the file of the revision
that is measured, so a change to the file can move the count."""
_STAND_IN_SUFFIXES = ("", ".md", ".txt", ".rst")
_INPUT_FOLDERS = tuple(
    re.compile(rf"(?:^|[/_.-])(?:{names})")
    for names in ("bench|perf", "example|sample|demo|corpus", "test|data|vectors|fixtures|inputs?(?:/|$)")
)
"""Folders in which projects keep inputs of their programs. Those whose files cause the most work come first."""
_DOCUMENT_FOLDER = re.compile(
    r"(?:^|[/_.-])(?:bench[^/]*|perf[^/]*|(?:test[_-]?)?data|samples?|inputs?|corp(?:us|ora))(?:/|$)"
)
"""Folders whose documents are inputs, and not documentation of the project."""
_MIN_SUFFIX_LETTERS = 2
"""A suffix with fewer letters occurs in too many names to show that a program is named after it."""
_MAX_FILES_OF_KIND = 6
"""The largest number of files to try that are of the kind that the program is named after."""
_MAX_LARGE_FILES = 2
"""How many of them are chosen because they are the largest: they cause the most work."""
_MAX_LARGE_LATER_FILES = 2
"""How many places are kept for the largest files of other folders than the best one, such as the tests."""
_MAX_SIMILAR_FILES = 60
"""How many files are executed once to find the one that causes the most faults."""
_STARTS_PROGRAMS = re.compile(r"(?<![a-z])(?:spawn|popen|fork|subprocess|os[./:]execute|execv[pe]{0,2})(?![a-z])")
"""What a script calls to start another program."""
_MAX_DATA_FILES = 2
"""The largest number of files of the most frequent other kind to try."""
_MAX_INPUT_BYTES = 8 << 20
"""A larger input probably takes too long."""
_MAX_SOURCE_BYTES = 256 << 10
"""A larger source file is probably generated."""
_LANGUAGE_PART = re.compile(
    r"(?:^(?:cpp|cxx|rust|go|py|python|java)[-_.])|(?:[-_.](?:c|cpp|cxx|rs|rust|go|py|python|java|fortran)$)"
)
"""A part of a project's name that says in which language it is written, as in ``yaml-cpp``, and not what it reads."""
_LANGUAGES_IN_NAMES = frozenset({"go", "py", "rs"})
"""Kinds of sources that the names of projects often begin with, because they are written in the language."""
_LONG_NAMES = {"md": "markdown", "yml": "yaml", "js": "javascript", "py": "python", "rst": "restructuredtext"}
"""Kinds of files with a long name that also occurs in the names of programs."""
_DOCUMENT_READER = re.compile(r"md(?:$|[\d_-]|to)|.*(?:(?<![a-z])md$|markdown|commonmark|cmark)|rst(?:$|[\d_-]|to)")
"""Names of programs that read documents: those among the tests are inputs too, whatever their suffix."""
_MANUAL_FOLDER = re.compile(r"(?:docs?|documentation|manual)(?:/|$)")
"""Folders with documentation of the project, which are inputs only of programs that are named after its format."""
_ABOUT_PROJECT = re.compile(
    r"license|licence|copying|readme|change|news|history|todo|contributing|cmakelists|requirements", re.IGNORECASE
)
_WRONG_INPUT = re.compile(
    r"error|invalid|malformed|corrupt|crash|fuzz|fail|expect|disabled|infinite|(?<![a-z])(?:bad|wrong|err)(?![a-z])"
)
"""Inputs that a program is expected to refuse or never to finish, and files with what it is expected to print."""
_DOCUMENTS = frozenset({"md", "markdown", "txt", "text", "rst"})
_RENDERED_KINDS = frozenset({"html", "xml", "tex"})
"""Suffixes of files that a program may make from documents."""
_OUTPUT_KINDS = frozenset({"exp", "expect", "expected", "gold", "golden", "ok", "out", "ref", "result"})
"""Suffixes of files with what a program is expected to print."""
_COMPRESSED_KINDS = frozenset({"br", "bz2", "gz", "lz", "lz4", "lzma", "lzo", "sz", "xz", "z", "zst"})
"""Suffixes of files that a compressor makes."""
_BUILD_KINDS = frozenset(
    {
        *("ac", "am", "cfg", "cmake", "conf", "h", "hpp", "in", "inc"),
        *("ini", "lock", "m4", "mk", "pc", "spec", "test", "tests", "toml"),
    }
)
_PROJECT_SETTINGS = re.compile(r"cargo|pyproject|rust|clippy|taplo", re.IGNORECASE)
"""Settings of a project's own build in a format that is also an input of the programs that are named after it."""
_DATA_KINDS = frozenset(
    {
        *("bc", "bed", "bin", "bmp", "cnf", "csv", "dat", "data", "diff", "dimacs", "dot", "fa", "fasta", "fastq"),
        *("geojson", "graph", "gv", "html", "json", "jsonl", "log", "mps", "mtx", "ndjson", "obj", "patch", "pcap"),
        *("pgm", "pgn", "ply", "ppm", "rtf", "smt2", "sql", "stl", "svg", "tex", "tga", "tsv", "vcf", "wasm", "wav"),
        *("xml", "yaml", "yml"),
    }
)
"""Suffixes of data that many programs read. Sources, settings and documents are not among them."""
_SCRIPT_KINDS = frozenset({"bash", "bat", "pl", "ps1", "rb", "sh"})
_MIN_FILES_OF_OWN_KIND = 3
"""So many files of an unknown kind among the examples or tests of a project are probably its own kind of inputs."""


def list_stand_ins(sources: Sources) -> list[str]:
    """Return files of a project that a program can read: its license, which rarely changes, and its README."""
    stand_ins = []
    for names in _STAND_INS:
        candidates = [f"{name}{suffix}" for name in names for suffix in _STAND_IN_SUFFIXES]
        first = next((candidate for candidate in candidates if sources.has(candidate)), None)
        if first:
            stand_ins.append(first)
    return stand_ins


def find_source(sources: Sources, suffix: str, get_size: Callable[[str], int]) -> str | None:
    """Return the largest source file with a suffix, as an input for a linter or a compiler; None if there is none.

    Files that the newest commits have not changed are preferred.

    Parameters
    ----------
    get_size
        Returns the size of a file in bytes.
    """
    files = [
        file
        for file in sources.find_files_by_suffix(suffix)
        if is_plain_path(file) and not is_third_party(file) and get_size(file) <= _MAX_SOURCE_BYTES
    ]
    return max(files, key=lambda file: (file not in sources.changed_files, get_size(file), file), default=None)


def list_inputs(sources: Sources, program: str, get_size: Callable[[str], int] = lambda _: 0) -> list[str]:
    """Return files that the project keeps as inputs of a program, the most promising first.

    Files of the kind that the program or the project is named after come first, such as ``.wren`` files for
    ``wren_cli``; then the data of its benchmarks, examples and tests, which may be documents. If there are none, they
    are files there of an unknown kind that is frequent. A compiler whose name ends in ``cc`` reads C. Files that the
    newest commits have changed are chosen only if there are no others, because a change to an input moves the count
    even if the program stays the same.

    Parameters
    ----------
    get_size
        Returns the size of a file in bytes. Among equally promising inputs, the largest comes first.
    """

    def rank_size(file: str) -> int:
        """Return a sort key: the largest file first, files that are empty or too large last."""
        size = get_size(file)
        return -size if size <= _MAX_INPUT_BYTES else 0

    def choose_unchanged_files(files: list[str]) -> list[str]:
        """Return the files that the newest commits have not changed, or all if there are none."""
        return [file for file in files if file not in sources.changed_files] or files

    candidates = [file for file in sources.files if _may_be_input(file)]
    sources_of_pages, pages = _pair_documents_with_pages(candidates)
    candidates = [file for file in candidates if file not in pages]
    uncompressed_files = _find_uncompressed_files(candidates)
    # Files of the kind that the program is named after.
    name = PurePosixPath(program).name.lower()
    files_of_kind = [
        file
        for file in candidates
        if _is_of_kind(file, name, sources.name.lower()) and (is_in_input_folder(file) or _may_be_kept_elsewhere(file))
    ]
    # tengo reads .tengo files, although its name also ends in "go". Without examples, it gets any of its scripts.
    names = {name, sources.name.lower()}
    files_of_kind = next(
        filter(None, ([file for file in files if _get_kind(file) in names] for files in (files_of_kind, candidates))),
        files_of_kind,
    )
    ranked_files_of_kind = sorted((_rank_folder(file), file) for file in choose_unchanged_files(files_of_kind))
    # Data of any kind, the most frequent kind first.
    data_files = choose_unchanged_files(
        [file for file in candidates if _is_data(file) or file in sources_of_pages or file in uncompressed_files]
        + [file for file in sources.number_files if "/" not in file or is_in_input_folder(file)]
    )
    if not (files_of_kind or data_files):
        data_files = choose_unchanged_files(_find_files_of_own_kinds(candidates))
    frequency = Counter(_get_kind(file) for file in data_files)
    data_files.sort(
        key=lambda file: (_is_page(file), -frequency[_get_kind(file)], _rank_folder(file), rank_size(file), file)
    )
    selected_files_of_kind = [file for _, file in _select_files_of_kind(ranked_files_of_kind, rank_size)]
    return list(dict.fromkeys([*selected_files_of_kind, *_select_data_files(data_files)]))


def list_similar_inputs(sources: Sources, file: str, get_size: Callable[[str], int]) -> list[str]:
    """Return the other inputs of a file's kind, the largest first; those that the newest commits changed are left out.

    Scripts that start other programs are left out too, because the faults of these would be counted. How large a file
    is does not show how much work it causes: a short script may do much.

    Parameters
    ----------
    get_size
        Returns the size of a file in bytes.
    """
    similar_files = [
        other
        for other in sources.files
        if other != file
        and _get_kind(other) == _get_kind(file)
        and _may_be_input(other)
        and is_in_input_folder(other)
        and other not in sources.changed_files
        and 0 < get_size(other) <= _MAX_INPUT_BYTES
        and not _STARTS_PROGRAMS.search(sources.read_text(other))
    ]
    return sorted(similar_files, key=lambda other: (-get_size(other), other))[:_MAX_SIMILAR_FILES]


def find_input_folder(inputs: Sequence[str]) -> str | None:
    """Return the folder of most inputs, for programs that work on folders; None if they are in the top folder."""
    folders = Counter(str(PurePosixPath(file).parent) for file in inputs)
    folder = max(folders, key=lambda name: folders[name], default=".")
    return None if folder == "." else folder


def find_other_input(sources: Sources, inputs: Sequence[str]) -> str | None:
    """Return a data file of another kind than the inputs, from the most promising folder; None if there is none."""
    kinds = {_get_kind(file) for file in inputs}
    files = [file for file in sources.files if _may_be_input(file) and _is_data(file) and _get_kind(file) not in kinds]
    return min(files, key=lambda file: (file in sources.changed_files, _rank_folder(file), file), default=None)


def find_input_pair(inputs: Sequence[str]) -> tuple[str, str] | None:
    """Return two inputs of one kind in one folder, such as two files to compare; None if there is no such pair."""
    files_by_kind: dict[tuple[PurePosixPath, str], list[str]] = {}
    for file in inputs:
        files = files_by_kind.setdefault((PurePosixPath(file).parent, _get_kind(file)), [])
        files.append(file)
        if len(files) == 2:
            return files[0], files[1]
    return None


def find_input_with_partner(sources: Sources, inputs: Sequence[str]) -> tuple[str, str] | None:
    """Return the first input next to which a file of another kind has the same name, and that file; None if none has.

    An example is a template with its data. Documents and pages are probably what the program is expected to write.
    """
    other_kinds = _DOCUMENTS | _RENDERED_KINDS | _OUTPUT_KINDS | _BUILD_KINDS | _SCRIPT_KINDS
    files_by_stem: dict[str, list[str]] = {}
    for file in sources.files:
        if is_plain_path(file) and _get_kind(file) and _get_kind(file) not in other_kinds:
            files_by_stem.setdefault(_get_stem(file), []).append(file)
    for file in inputs:
        partner = next((other for other in files_by_stem.get(_get_stem(file), ()) if other != file), None)
        if partner:
            return file, partner
    return None


def _pair_documents_with_pages(files: Sequence[str]) -> tuple[set[str], set[str]]:
    """Return documents in input folders, and the files with the same names that a program is expected to make of them.

    Such pairs are the tests of a program that converts documents: the first is its input, the second its output.
    """
    documents = {_get_stem(file): file for file in files if _get_kind(file) in _DOCUMENTS and is_in_input_folder(file)}
    rendered = {_get_stem(file): file for file in files if _get_kind(file) in _RENDERED_KINDS}
    common_stems = documents.keys() & rendered.keys()
    return {documents[stem] for stem in common_stems}, {rendered[stem] for stem in common_stems}


def _find_uncompressed_files(files: Sequence[str]) -> set[str]:
    """Return the files in input folders next to which a compressed file has the same name: inputs of a compressor.

    The suffix of the compressed file may replace that of the other one, or follow it.
    """
    compressed_stems = {_get_stem(file) for file in files if _get_kind(file) in _COMPRESSED_KINDS}
    return {
        file
        for file in files
        if _get_kind(file) not in _COMPRESSED_KINDS
        and is_in_input_folder(file)
        and not compressed_stems.isdisjoint({file, _get_stem(file)})
    }


def _find_files_of_own_kinds(files: Sequence[str]) -> list[str]:
    """Return the files of unknown kinds that are frequent in input folders: inputs in the project's own format."""
    known_kinds = _DOCUMENTS | _BUILD_KINDS | _SCRIPT_KINDS
    own_files = [
        file for file in files if is_in_input_folder(file) and not (is_source(file) or _get_kind(file) in known_kinds)
    ]
    frequency = Counter(map(_get_kind, own_files))
    return [file for file in own_files if frequency[_get_kind(file)] >= _MIN_FILES_OF_OWN_KIND]


def _select_files_of_kind(
    ranked_files: list[tuple[int, str]], rank_size: Callable[[str], int]
) -> list[tuple[int, str]]:
    """Return at most :data:`_MAX_FILES_OF_KIND` files.

    If the best folders contain more, these are their largest files, then files at equal distances in the alphabet,
    because files with similar names are alike. Unless the benchmarks fill all places, a few of them are for the largest
    files of other folders: an example often computes less than a test.

    Parameters
    ----------
    ranked_files
        Sorted pairs: the rank of the file's folder (the lowest is the best), and its path.
    rank_size
        Returns a sort key: the largest file first; 0 if the size is unknown or too large.
    """
    if len(ranked_files) <= _MAX_FILES_OF_KIND:
        return ranked_files
    best_rank = ranked_files[0][0]
    best_files = [ranked_file for ranked_file in ranked_files if ranked_file[0] == best_rank]
    if best_rank == 0 and len(best_files) >= _MAX_FILES_OF_KIND:
        return _select_from_folders(best_files, rank_size, _MAX_FILES_OF_KIND)
    later_files = [
        item
        for item in ranked_files
        if best_rank < item[0] < len(_INPUT_FOLDERS) and rank_size(item[1])  # in an input folder, of a known size
    ]
    large_files = sorted(later_files, key=lambda item: rank_size(item[1]))[:_MAX_LARGE_LATER_FILES]
    n_places = _MAX_FILES_OF_KIND - len(large_files)
    other_files = (
        [item for item in ranked_files if item not in large_files][:n_places]
        if len(best_files) <= n_places
        else _select_from_folders(best_files, rank_size, n_places)
    )
    # A program may be tried with the first few of them only.
    return [*other_files[:_MAX_LARGE_FILES], *large_files, *other_files[_MAX_LARGE_FILES:]]


def _select_from_folders(
    best_files: list[tuple[int, str]], rank_size: Callable[[str], int], max_files: int
) -> list[tuple[int, str]]:
    """Return some of the files of the best folders: the largest, then files at equal distances in the alphabet.

    The parameters are those of :func:`_select_files_of_kind`, and the number of files to return.
    """
    # Only files whose size is known and not too large.
    large_files = sorted((item for item in best_files if rank_size(item[1])), key=lambda item: rank_size(item[1]))
    del large_files[_MAX_LARGE_FILES:]
    other_files = [item for item in best_files if item not in large_files]
    n_places = min(max_files - len(large_files), len(other_files))
    return large_files + [other_files[place * len(other_files) // n_places] for place in range(n_places)]


def _select_data_files(ranked_files: list[str]) -> list[str]:
    """Return the first few files of the first kind, and the first file of another one: programs often read one kind."""
    files_of_first_kind = [file for file in ranked_files if _get_kind(file) == _get_kind(ranked_files[0])]
    other_files = [file for file in ranked_files if file not in files_of_first_kind]
    return [*files_of_first_kind[:_MAX_DATA_FILES], *other_files[:1]]


def _is_page(file: str) -> bool:
    """Return whether a file is a page, which presents the project more often than it is an input."""
    return _get_kind(file) == "html"


def is_about_project(file: str) -> bool:
    """Return whether a file is about the project itself, such as its README, and changes with it."""
    return _ABOUT_PROJECT.match(PurePosixPath(file).name) is not None


def is_kept_as_input(file: str) -> bool:
    """Return whether a project keeps a file among its benchmarks, examples or tests, as an input of its programs."""
    return _may_be_input(file) and is_in_input_folder(file) and not (is_source(file) or _get_kind(file) in _BUILD_KINDS)


def _may_be_input(file: str) -> bool:
    """Return whether a file may be a valid input, judging by its path, which must not need quotes in a shell."""
    if not is_plain_path(file) or not _get_kind(file) or is_third_party(file):
        return False
    return not (is_about_project(file) or _WRONG_INPUT.search(file.lower()))


def _get_kind(file: str) -> str:
    """Return the suffix of a file in lower case, without its dot."""
    return PurePosixPath(file).suffix.removeprefix(".").lower()


def _get_stem(file: str) -> str:
    """Return the path of a file without its suffix."""
    return str(PurePosixPath(file).with_suffix(""))


def is_in_input_folder(file: str) -> bool:
    """Return whether a file is in a folder in which projects keep inputs of their programs."""
    return _rank_folder(file) < len(_INPUT_FOLDERS)


def _is_data(file: str) -> bool:
    """Return whether the project keeps a file as data, in a format that many programs read."""
    return is_in_input_folder(file) and (_get_kind(file) in _DATA_KINDS or _is_kept_document(file))


def _is_kept_document(file: str) -> bool:
    """Return whether a document is kept as an input of the project's programs."""
    return _get_kind(file) in _DOCUMENTS and bool(_DOCUMENT_FOLDER.search(_get_folder(file)))


def _may_be_kept_elsewhere(file: str) -> bool:
    """Return whether a file outside the input folders may be an input of a program that reads files of its kind."""
    if _get_kind(file) in _DOCUMENTS:
        return bool(_MANUAL_FOLDER.match(_get_folder(file)))
    return "/" not in file


def _get_folder(file: str) -> str:
    """Return the folder of a file in lower case, in which the patterns are written."""
    return str(PurePosixPath(file).parent).lower()


def _rank_folder(file: str) -> int:
    """Return the rank of a file's folder among the input folders, from 0; their number if it is none of them.

    A file in one of them with "bench" in its name ranks as if it were in a folder of benchmarks.
    """
    folder = _get_folder(file)
    rank = next((rank for rank, pattern in enumerate(_INPUT_FOLDERS) if pattern.search(folder)), len(_INPUT_FOLDERS))
    is_benchmark = rank < len(_INPUT_FOLDERS) and "bench" in PurePosixPath(file).name.lower()
    return 0 if is_benchmark else rank


def _is_of_kind(file: str, program: str, project: str) -> bool:
    """Return whether a program or its project is named after the kind of a file.

    A short kind has to be at the beginning or the end of the name.
    """
    kind = _get_kind(file)
    if kind in _DOCUMENTS and is_in_input_folder(file) and any(map(_DOCUMENT_READER.match, (program, project))):
        return True
    names = tuple(_LANGUAGE_PART.sub("", name) for name in (program, project))
    if kind == "toml" and is_in_input_folder(file):
        return any(kind in name for name in names) and not _PROJECT_SETTINGS.match(PurePosixPath(file).name)
    if kind in _BUILD_KINDS or len(kind) < _MIN_SUFFIX_LETTERS:
        return kind == "c" and program.endswith("cc")  # a C compiler, such as tcc
    if kind in _LANGUAGES_IN_NAMES:
        # "py" at the beginning of a name only says that the project is written in Python.
        return any(name.endswith((kind, _LONG_NAMES.get(kind, kind))) for name in names)
    long_names = [word for word in (kind, _LONG_NAMES.get(kind, "")) if len(word) > _MIN_SUFFIX_LETTERS]
    if any(long_name in name for long_name in long_names for name in names):
        return True
    is_short = len(kind) == _MIN_SUFFIX_LETTERS
    return is_short and any(name.startswith(kind) or name.endswith(kind) for name in names)

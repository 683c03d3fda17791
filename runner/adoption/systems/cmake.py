"""CMake, for C, C++ and Fortran. Options that build benchmarks are switched on."""

import re
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import JOBS_OPTION, BuildProposal, build_shell_command
from runner.adoption.sources import Sources, is_plain_path

_OPTION = re.compile(r"^\s*(?:cmake_dependent_)?option\s*\(\s*(\w+)", re.IGNORECASE | re.MULTILINE)
_FORTRAN = re.compile(r"^\s*enable_language\s*\(\s*Fortran\b", re.IGNORECASE | re.MULTILINE)
_BENCHMARKS = re.compile(r"BENCH")
_EXTRAS = re.compile(r"BENCH|TEST|FUZZ|EXAMPLE|DOC|MAN_?PAGE|MANUAL")
_TESTS = re.compile(r"TEST|FUZZ")
_PROGRAMS = re.compile(r"BENCH|TESTS?$|TESTING|EXAMPLE|TOOL|CLI$|APPS?$|DEV(?:ELOPER)?_MODE$")
"""This and the patterns above match parts of the upper-case names of options, by what an option switches on."""

_BUILD_TYPE = "-DCMAKE_BUILD_TYPE=RelWithDebInfo"
_RELEASE_TYPE = "-DCMAKE_BUILD_TYPE=Release"
_PROJECT = re.compile(r"^\s*project\s*\(", re.IGNORECASE | re.MULTILINE)
_PROGRAM_FOLDERS = ("bench", "benchmark", "benchmarks", "test", "tests")
"""Folders that may be projects of their own."""
_MISSING_INSTRUCTIONS = "target specific option mismatch"
"""What a compiler says about code that needs instructions for which no option was given."""
_WHOLE_BUILD = re.compile(r"cmake --build \S+ " + re.escape(JOBS_OPTION))
_CXX_STANDARD = "-DCMAKE_CXX_STANDARD="
_OLD_CXX_STANDARD = re.compile(
    r"only available (?:with|from) (?:['‘]?-std=(?:c|gnu)\+\+|C\+\+)(\d\d)\b|\bis not a member of ['‘]std['’]|"
    r"\bno (?:member|template|type) named '\w+' in namespace 'std'"
)
"""What a compiler says about code that needs a later standard of C++, with that standard if it is named."""
_USUAL_CXX_STANDARD = 17
"""The standard that is tried if no error names one: most compilers support all of it."""


_EXCLUDED_PROGRAM = re.compile(r"^\s*add_executable\s*\(\s*(\S+)\s+EXCLUDE_FROM_ALL\b", re.IGNORECASE | re.MULTILINE)
_CUSTOM_TARGET = re.compile(r"^\s*add_custom_target\s*\(\s*([\w-]+)\s*([^)]*)\)", re.IGNORECASE | re.MULTILINE)
_DEPENDENCIES = re.compile(r"^\s*add_dependencies\s*\(\s*(\S+)\s+([^)]*)\)", re.IGNORECASE | re.MULTILINE)
_MAX_EXCLUDED_PROGRAMS = 4


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose variants: with benchmarks, with the project's defaults, without extras, and with more programs.

    The last variants are for libraries, which often build no program by default. The first of them leaves out the
    tests, for which many builds download a framework; another one names the targets of programs that a build leaves out
    otherwise. Equal variants are proposed once.
    """
    file = sources.find_nearest_file("CMakeLists.txt")
    if file is None:
        return []
    text = sources.read_text(file)
    folder = str(PurePosixPath(file).parent)
    names = list(dict.fromkeys(_OPTION.findall(text)))
    benchmarks = [f"-D{name}=ON" for name in names if _BENCHMARKS.search(name.upper())]
    extras = [f"-D{name}=OFF" for name in names if _EXTRAS.search(name.upper())]
    programs = [f"-D{name}=ON" for name in names if _PROGRAMS.search(name.upper())]
    untested_programs = [option for option in programs if not _TESTS.search(option.upper())]
    tests = [f"-D{name}=OFF" for name in names if _TESTS.search(name.upper())]
    options_without_extras = ["-DBUILD_TESTING=OFF", *extras]
    options_without_tests = ["-DBUILD_TESTING=OFF", *tests, *untested_programs]
    all_programs = ["-DBUILD_TESTING=ON", *programs]
    variants = [
        benchmarks,
        [],
        options_without_extras,
        *([options_without_tests] if untested_programs else []),
        all_programs,
    ]
    distinct_variants = [options for number, options in enumerate(variants) if options not in variants[:number]]
    enlarged_variants = [options_without_tests, *([all_programs] if programs else [])]
    builds = [
        replace(
            _propose_build(folder, sources.build_folder, options, text),
            builds_tests=options is all_programs and bool(programs),
            # The first variant builds most, except for the variants with more programs.
            is_reduced=number > 0 and not any(options is variant for variant in enlarged_variants),
        )
        for number, options in enumerate(distinct_variants)
    ]
    excluded_targets = _list_excluded_targets(text)
    if excluded_targets:
        # The programs that a build leaves out unless their target is named.
        build = replace(_propose_build(folder, sources.build_folder, all_programs, text), builds_tests=True)
        command = build.command.replace(JOBS_OPTION, f"{JOBS_OPTION} --target all {' '.join(excluded_targets)}")
        builds.append(replace(build, command=command))
    return builds + _propose_separate_programs(sources, text)


def _list_excluded_targets(text: str) -> list[str]:
    """Return the targets that build the programs which the default target leaves out; empty if there are none.

    This is a target that does nothing else but depend on them, or else the first few of these programs.
    """
    programs = list(dict.fromkeys(_EXCLUDED_PROGRAM.findall(text)))
    empty_targets = {name for name, rest in _CUSTOM_TARGET.findall(text) if "COMMAND" not in rest}
    collecting_targets = [
        target
        for target, dependencies in _DEPENDENCIES.findall(text)
        if target in empty_targets and not set(programs).isdisjoint(dependencies.split())
    ]
    plain_programs = [program for program in programs if is_plain_path(program)]
    return collecting_targets[:1] or plain_programs[:_MAX_EXCLUDED_PROGRAMS]


def _propose_separate_programs(sources: Sources, text: str) -> list[BuildProposal]:
    """Return the builds of benchmarks and tests that are projects of their own, as those of libraries of headers are.

    Parameters
    ----------
    text
        The file at the top. Folders that it adds are built with it.
    """
    texts = {folder: sources.read_text(f"{folder}/CMakeLists.txt") for folder in _PROGRAM_FOLDERS}
    return [
        replace(_propose_build(folder, sources.build_folder, options=[], text=own_text), builds_tests="test" in folder)
        for folder, own_text in texts.items()
        if _PROJECT.search(own_text) and not re.search(rf"add_subdirectory\s*\(\s*\"?{folder}\b", text, re.IGNORECASE)
    ]


def switch_part_off(build: BuildProposal, sources: Sources, library: str) -> BuildProposal | None:
    """Switch off the part of a build that needs a library; return None if no option names the library."""
    text = sources.read_text(sources.find_nearest_file("CMakeLists.txt") or "")
    names = [
        name
        for name in _OPTION.findall(text)
        if re.fullmatch(rf"(?:\w+_)?(?:WITH|USE|ENABLE)_{re.escape(library)}", name, re.IGNORECASE)
    ]
    if build.system != "CMake" or not names or f"-D{names[0]}=" in build.command:
        return None
    return replace(build, command=build.command.replace(_BUILD_TYPE, f"{_BUILD_TYPE} -D{names[0]}=OFF"))


def build_release(build: BuildProposal, log: str) -> BuildProposal | None:
    """Return the build as a release if its code needs options that the project only gives to releases; else None."""
    if build.system != "CMake" or _BUILD_TYPE not in build.command or _MISSING_INSTRUCTIONS not in log:
        return None
    return replace(build, command=build.command.replace(_BUILD_TYPE, _RELEASE_TYPE))


def raise_cxx_standard(build: BuildProposal, log: str) -> BuildProposal | None:
    """Return the build with a later standard of C++ if an error is about the standard; else None, or if it is set.

    A project may set an older standard only as a default.
    """
    matches = list(_OLD_CXX_STANDARD.finditer(log))
    if build.system != "CMake" or _BUILD_TYPE not in build.command or _CXX_STANDARD in build.command or not matches:
        return None
    standard = max([_USUAL_CXX_STANDARD, *(int(match[1]) for match in matches if match[1])])
    return replace(build, command=build.command.replace(_BUILD_TYPE, f"{_BUILD_TYPE} {_CXX_STANDARD}{standard}"))


def _propose_build(folder: str, target: str, options: list[str], text: str) -> BuildProposal:
    """Return the CMake build of a folder, with debug information, and with the compilers that the project needs."""
    configure = ["cmake", "-S", folder, "-B", target, _BUILD_TYPE, *options]
    project_arguments = re.search(rf"{_PROJECT.pattern}([^)]*)\)", text, _PROJECT.flags)
    names_fortran = bool(project_arguments and re.search(r"\bFortran\b", project_arguments[1]))
    uses_fortran = names_fortran or bool(_FORTRAN.search(text))
    return BuildProposal(
        "CMake",
        build_shell_command(" ".join(configure), f"cmake --build {target} {JOBS_OPTION}"),
        ("cmake", "gfortran") if uses_fortran else ("cmake",),
        depth=len(PurePosixPath(folder).parts),
    )


def propose_single_target(proposal: BuildProposal, program: str) -> BuildProposal | None:
    """Return the build of a program's target alone, with what it needs; None if the build is none of CMake's.

    By default, a target has the name of its program.
    """
    name = PurePosixPath(program).name
    command, n_replaced = _WHOLE_BUILD.subn(lambda match: f"{match[0]} --target {name}", proposal.command)
    if proposal.system != "CMake" or n_replaced != 1 or not is_plain_path(name) or "/" not in program:
        return None
    return replace(proposal, command=command)

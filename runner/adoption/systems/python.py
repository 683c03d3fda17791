"""Python: packages with or without extensions, and plain scripts."""

import ast
import json
import re
import shlex
import tomllib
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from runner.adoption.proposal import IMPORT_OPTION, BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import MAX_DEPTH, Sources, is_auxiliary, is_plain_path, is_third_party
from runner.subject.package_managers import PIP

NATIVE_BACKENDS = ("mesonpy", "scikit_build_core", "maturin", "skbuild")
"""Back ends that run another build system."""
_EDITABLE_REQUIREMENTS = {"hatchling": ("editables",)}
"""Undeclared build requirements of back ends for an editable installation: they name them only while they run."""
_BENCHMARK = re.compile(r"^(bench|perf)(marks?)?([_-].*)?$|.*[_-]bench(mark)?s?$")
_MAX_SCRIPTS = 5
_REQUIREMENTS = "requirements.txt"
_SCRIPTS_DEPTH = MAX_DEPTH + 1
"""The depth of scripts without a package. It places them after all other builds, because they may only help to develop
a project in another language."""
_PYTHON = "venv/bin/python"
_SHARED_ENVIRONMENT_COMMAND = "python3 -m venv --system-site-packages"
_MAX_TEST_FILES, _MAX_READ_TESTS = 3, 100
"""How many files of tests are tried, and how many are read to find the largest."""
_TEST = re.compile(r"(?:^|/)tests?/(?:test_[\w-]+|[\w-]+_test)\.py$")
"""The files that pytest reads, in a folder of tests."""
_TEST_REQUIREMENTS = (
    *("requirements-test.txt", "requirements-tests.txt", "requirements_test.txt", "test-requirements.txt"),
    *("test_requirements.txt", "requirements/test.txt", "requirements/tests.txt", "tests/requirements.txt"),
)
"""Usual names of the file that lists the packages of the tests."""
_TEST_GROUPS = ("test", "tests", "testing")
"""Names of the dependency groups that tests require."""
_EXTENSION = re.compile(r"\bExtension\(\s*(?:name\s*=\s*)?[\"'](\w+)[\"']")
_MODULES = re.compile(r"\bpy_modules\s*=\s*\[([^\]]*)\]")
_SCRIPTS = re.compile(r"\bscripts\s*=\s*\[([^\]]*)\]")
_CONSOLE_SCRIPTS = re.compile(r"\bconsole_scripts\b[\"']?\s*[=:]([^\]\[]*\[?[^\]\[]*)")
_ENTRY_POINT = re.compile(r"([\w.-]+)[ \t]*=[ \t]*[\w.]+:\w+")
_INSTALL = re.compile(r"\bpip3? install\b((?:\"(?:[^\"\\]|\\.)*\"|[^&|;\"])*)")
"""An installation with pip, up to the end of the command. Requirements with markers are in double quotes."""
_REQUIREMENT_FILE_OPTIONS = ("-r", "--requirement")
_AUXILIARY_FOLDER = re.compile(r"^(bench(mark)?s?|scripts?|tools?|testing|doc|examples?|tasks?|ci)$")
"""Folders of packages that only help to develop the project."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to install the package into a virtual environment: first offline, then with downloads; then its tests."""
    project = _read_project(sources)
    asv_folders = _list_asv_folders(sources)
    benchmarks = [file for file in sources.find_files_by_suffix(".py") if _is_benchmark(file)]
    scripts = [
        file for file in benchmarks if not file.startswith(asv_folders) and _has_own_statements(sources.read_text(file))
    ][:_MAX_SCRIPTS]
    if not (sources.has("setup.py") or "project" in project or "build-system" in project):
        return _propose_scripts(sources, scripts)
    # With versioneer, a package that is imported from its sources runs git for its version. The faults of git, which
    # differ from commit to commit, would be counted, so the package is installed instead.
    needs_git = _needs_git(sources)
    python = f"{_PYTHON} -P" if needs_git else _PYTHON
    runs = (*(RunProposal(f"{_PYTHON} {file}") for file in scripts), *_list_entry_points(sources, project, python))
    editable = "" if needs_git or _get_build_backend(project) in NATIVE_BACKENDS else "-e "
    required_packages = _list_build_requirements(project)
    translation = _build_translation_command(sources)
    builds = _propose_environments(
        offline_arguments=f"--no-build-isolation --no-deps {editable}.",
        online_arguments=f"{editable}.",
        runs=runs,
        packages=[".", *required_packages],
        translation=translation,
    )
    if sources.has("setup.py") and not needs_git:
        # Tried between the two builds: it needs no network, and works even if the package cannot be installed.
        build_in_place = build_shell_command(
            f"{_SHARED_ENVIRONMENT_COMMAND} --without-pip venv",
            *filter(None, [translation]),
            f"{_PYTHON} setup.py --quiet build_ext --inplace",
        )
        builds.insert(1, BuildProposal("Python", build_in_place, ("python3",), runs=runs))
    return [*builds, *_propose_tests(sources, project, editable, [".", *required_packages], translation)]


def _propose_tests(
    sources: Sources, project: dict[str, Any], editable: str, packages: list[str], translation: str
) -> list[BuildProposal]:
    """Propose to run the tests of a package with pytest: they execute most of the code of a library.

    Parameters
    ----------
    editable
        The option ``-e`` for an editable installation, with a space; empty for a normal one.
    packages
        The package and its build requirements.
    translation
        The command that translates sources with Cython; empty if there is nothing to translate.
    """
    folders = {str(PurePosixPath(file).parent) for file in sources.files if _TEST.search(file)}
    outer_folders = sorted(
        (folder for folder in folders if not is_third_party(f"{folder}/x")), key=lambda path: (path.count("/"), path)
    )
    if not outer_folders:
        return []
    # After a normal installation, the package must not be imported from its sources: they lack the built extensions.
    python = _PYTHON if editable else f"{_PYTHON} -P"
    command = f"{python} -m pytest -q -p no:cacheprovider -o addopts="
    whole_suite = RunProposal(f"{command} {outer_folders[0]}", may_do_nothing=True, is_test=True)
    # All tests together may take long, so the largest files of tests are programs of their own.
    files = [file for file in sources.files if _TEST.search(file) and file.startswith(f"{outer_folders[0]}/")]
    largest_files = sorted(
        filter(is_plain_path, files[:_MAX_READ_TESTS]), key=lambda file: -len(sources.read_text(file))
    )
    parts = [
        replace(whole_suite, command=f"{command} {file}", program=file) for file in largest_files[:_MAX_TEST_FILES]
    ]
    runs = (whole_suite, *(parts if len(files) > 1 else ()))
    required_packages = ["pytest", *_list_test_requirements(sources, project)]
    builds = _propose_environments(
        offline_arguments="",
        online_arguments=f"{editable}. {' '.join(required_packages)}",
        runs=runs,
        packages=[*packages, *required_packages],
        translation=translation,
    )
    build_with_downloads = builds[-1]  # the other build has no arguments, and is not proposed
    return [replace(build_with_downloads, builds_tests=True)]


def _list_test_requirements(sources: Sources, project: dict[str, Any]) -> list[str]:
    """Return the packages that the tests of a project require, each quoted for a shell, or a file that lists them."""
    table = project.get("project")
    optional_dependencies = table.get("optional-dependencies") if isinstance(table, dict) else None
    for groups in (optional_dependencies, project.get("dependency-groups")):
        if not isinstance(groups, dict):
            continue
        for name in _TEST_GROUPS:
            if isinstance(groups.get(name), list):
                return _quote_requirements(groups[name])
    return [f"-r {file}" for file in _TEST_REQUIREMENTS if sources.has(file)][:1]


def _needs_git(sources: Sources) -> bool:
    """Return whether the package runs git when it is imported from its sources, because it uses versioneer."""
    return sources.has("versioneer.py") or "versioneer" in sources.read_text("pyproject.toml")


def _has_own_statements(script: str) -> bool:
    """Return whether a script has statements besides imports and definitions."""
    try:
        return not all(map(_is_definition, ast.parse(script).body))
    except (SyntaxError, ValueError, RecursionError):  # this version of Python cannot parse the script
        return True


def _is_definition(statement: ast.stmt) -> bool:
    """Return whether a statement only defines something, so that importing the module does no work."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return not any(isinstance(node, ast.Call) for node in ast.walk(statement))
    kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Pass
    return isinstance(statement, kinds)


def _list_asv_folders(sources: Sources) -> tuple[str, ...]:
    """Return the folders of benchmarks for asv, which do nothing if they are run as scripts."""
    folders = []
    for file in sources.files:
        path = PurePosixPath(file)
        if path.name == "asv.conf.json":
            match = re.search(r'^\s*"benchmark_dir"\s*:\s*"([\w./-]+)"', sources.read_text(file), re.MULTILINE)
            folders.append(f"{path.parent / (match[1] if match else 'benchmarks')}/")
    return tuple(folders)


def _propose_scripts(sources: Sources, benchmarks: list[str]) -> list[BuildProposal]:
    """Propose to run scripts outside a package, with the packages that ``requirements.txt`` lists."""
    top_files = [file for file in sources.find_files_by_suffix(".py") if "/" not in file and not is_auxiliary(file)]
    files = [file for file in dict.fromkeys([*benchmarks, *top_files[:_MAX_SCRIPTS]]) if " " not in file]
    if not files:
        return []
    if not sources.has(_REQUIREMENTS):
        runs = tuple(RunProposal(f"python3 {file}") for file in files)
        return [BuildProposal("Python", "", ("python3",), runs=runs, depth=_SCRIPTS_DEPTH, runs_loose_scripts=True)]
    runs = tuple(RunProposal(f"{_PYTHON} {file}") for file in files)
    builds = _propose_environments(f"-r {_REQUIREMENTS}", f"-r {_REQUIREMENTS}", runs, [f"-r {_REQUIREMENTS}"])
    return [replace(build, depth=_SCRIPTS_DEPTH, runs_loose_scripts=True) for build in builds]


def _propose_environments(
    offline_arguments: str,
    online_arguments: str,
    runs: tuple[RunProposal, ...],
    packages: list[str],
    translation: str = "",
) -> list[BuildProposal]:
    """Return the builds with `pip install`: first with the packages of this host, then with downloads.

    Parameters
    ----------
    offline_arguments, online_arguments
        The arguments of `pip install` in the first build, and in the second one.
    packages
        The packages that the second build keeps for later builds and for the gate, which has no network access.
    translation
        A command that uses Cython before the installation; empty if there is none.
    """
    pip, quiet = f"{_PYTHON} -m pip", "--quiet --disable-pip-version-check"
    install = f"{pip} install {quiet}"

    def build_install_command(arguments: str, packages: list[str]) -> str:
        """Return the installation of the packages that an earlier build has kept, or else of downloaded ones.

        A failed download does no harm, because the last command can download too.
        """
        download = f"{pip} download {quiet} --dest ${PIP.variable} {' '.join(packages)}"
        return f"{{ {install} --no-index {arguments} || {{ {download}; {install} {arguments}; }}; }}"

    shared = build_shell_command(
        f"{_SHARED_ENVIRONMENT_COMMAND} venv",
        *filter(None, [translation]),
        f"{install} --no-index {offline_arguments}",
    )
    own_environment = build_shell_command(
        "python3 -m venv venv",
        *([build_install_command("cython", ["cython"]), translation] if translation else []),
        build_install_command(online_arguments, packages),
    )
    return [
        BuildProposal("Python", shared, ("python3",), runs=runs, offline=True),
        BuildProposal("Python", own_environment, ("python3",), {PIP.variable: PIP.folder}, runs=runs),
    ]


def _build_translation_command(sources: Sources) -> str:
    """Return the command that translates the Cython sources of which ``setup.py`` compiles the result.

    It is empty if there are none. A ``setup.py`` that names the sources translates them itself.
    """
    setup = sources.read_text("setup.py")
    commands = []
    for source in filter(is_plain_path, sources.find_files_by_suffix(".pyx")):
        for suffix, option in ((".c", ""), (".cpp", " --cplus")):
            target = str(PurePosixPath(source).with_suffix(suffix))
            if target in setup and source not in setup and not sources.has(target):
                commands.append(f"{_PYTHON} -m cython{option} {source}")
                break
    return " && ".join(commands)


def _list_build_requirements(project: dict[str, Any]) -> list[str]:
    """Return the packages that the build requires, each quoted for a shell."""
    system = project.get("build-system")
    required_packages = system.get("requires") if isinstance(system, dict) else None
    packages = required_packages if isinstance(required_packages, list) else ["setuptools", "wheel"]
    return _quote_requirements([*packages, *_EDITABLE_REQUIREMENTS.get(_get_build_backend(project), ())])


def _quote_requirements(requirements: list[Any]) -> list[str]:
    """Return requirements, each quoted for a shell; those that cannot be quoted are left out."""
    # Single quotes surround the whole command, so markers are written with double quotes, which mean the same.
    quoted_names = [name.replace("'", '"') for name in requirements if isinstance(name, str)]
    return [
        json.dumps(name) for name in quoted_names if name.isprintable() and not any(sign in name for sign in "$`\\{}")
    ]


def build_download_command(sources: Sources, command: str) -> str:
    """Return a command that downloads the packages which a build installs with pip, and their build requirements.

    It is empty if the build installs nothing.
    """
    install = _INSTALL.search(command)
    if install is None:
        return ""
    try:
        words = shlex.split(install[1])
    except ValueError:  # a quotation mark is not closed
        words = [word.strip("\"'") for word in install[1].split()]
    files = {next_word for word, next_word in pairwise(words) if word in _REQUIREMENT_FILE_OPTIONS}
    requirements = []
    for word, next_word in pairwise([*words, ""]):
        if word in _REQUIREMENT_FILE_OPTIONS:
            requirements.append(f"-r {shlex.quote(next_word)}")
        elif not word.startswith("-") and word not in files:
            requirements.append(shlex.quote(word))
    if not requirements:
        return ""
    if "." in requirements:
        requirements += _list_build_requirements(_read_project(sources))
    return f"python3 -m pip download --dest {PIP.folder.replace('{home}', '~')} {' '.join(requirements)}"


def is_primary_build_system(sources: Sources) -> bool:
    """Return whether the Python package's build system comes first, because it runs another build system."""
    return _get_build_backend(_read_project(sources)) in NATIVE_BACKENDS


def _read_project(sources: Sources) -> dict[str, Any]:
    """Return the content of pyproject.toml; empty if it is not valid."""
    try:
        return tomllib.loads(sources.read_text("pyproject.toml"))
    except (ValueError, RecursionError):
        return {}


def _get_build_backend(project: dict[str, Any]) -> str:
    """Return the package of the project's build back end, such as ``mesonpy``; empty if the project names none."""
    system = project.get("build-system")
    return str(system.get("build-backend", "")).partition(".")[0] if isinstance(system, dict) else ""


def _is_benchmark(file: str) -> bool:
    """Return whether a file is a benchmark script; a file that begins with ``test_`` is not: it is for pytest."""
    path = PurePosixPath(file)
    if " " in file or is_third_party(file) or path.name.startswith(("_", "conftest", "test_")):
        return False
    return path.parent.name in {"bench", "benchmark", "benchmarks"} or bool(_BENCHMARK.match(path.stem))


def _is_example(file: str) -> bool:
    """Return whether a file is an example of the project, with a path that needs no quotes in a command."""
    path = PurePosixPath(file)
    is_in_folder = bool(path.parts) and path.parts[0] in {"example", "examples", "demo", "demos"}
    return is_in_folder and re.fullmatch(r"[\w./-]+", file) is not None and not path.name.startswith("_")


def _list_entry_points(sources: Sources, project: dict[str, Any], python: str) -> list[RunProposal]:
    """Return the ways to run a package: its executable modules, its commands, its examples, and its import."""
    # Executable modules.
    top_packages = _list_top_packages(sources, project)
    modules = [f"{python} -m {path.name}" for path in top_packages if sources.has(f"{path}/__main__.py")]
    # Commands that the installation creates.
    commands = [f"venv/bin/{name}" for name in _list_installed_commands(sources, project)]
    runs = []
    for program in [*modules, *commands]:
        runs += [
            RunProposal(program, may_do_nothing=True, program=program, takes_files=True),
            RunProposal(f"{program} --help", may_do_nothing=True, program=program),
        ]
    # An example needs no input, and calls the package as users do.
    examples = [file for file in sources.find_files_by_suffix(".py") if _is_example(file)]
    scripts = [file for file in examples if _has_own_statements(sources.read_text(file))]
    runs += [RunProposal(f"{python} {file}", may_do_nothing=True, is_test=True) for file in scripts[:_MAX_SCRIPTS]]
    # Its import.
    names = [path.name for path in top_packages if path.name.isidentifier()]
    for name in names or _list_modules(sources, project):
        import_command = f'{python} {IMPORT_OPTION}{name}"'
        # The import counts as a separate program, with which the examples are compared.
        runs.append(RunProposal(import_command, may_do_nothing=True, program=import_command))
    return runs


def _list_top_packages(sources: Sources, project: dict[str, Any]) -> list[PurePosixPath]:
    """Return the folders of the top-level packages, those with the project's name first.

    Packages that only help to develop the project are left out, unless there are no others.
    """
    paths = [PurePosixPath(file) for file in sources.files]
    # The top folder is not a package, although some projects have such a file there.
    packages = [path.parent for path in paths if path.name == "__init__.py" and path.parent.name]
    top_packages = [path for path in packages if path.parent not in packages and not is_auxiliary(f"{path}/x")]
    main_packages = [path for path in top_packages if not _AUXILIARY_FOLDER.match(path.name)] or top_packages
    table = project.get("project")
    project_name = str(table.get("name", "")) if isinstance(table, dict) else ""
    own_names = {_normalize_name(project_name), _normalize_name(sources.name)}
    return sorted(main_packages, key=lambda path: _normalize_name(path.name) not in own_names)


def _list_installed_commands(sources: Sources, project: dict[str, Any]) -> list[str]:
    """Return the names of the commands that ``pyproject.toml``, ``setup.py`` or ``setup.cfg`` installs."""
    tool = project.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    names: list[str] = []
    for table in (project.get("project"), poetry):
        commands = table.get("scripts") if isinstance(table, dict) else None
        names += list(commands) if isinstance(commands, dict) else []
    for file in ("setup.py", "setup.cfg"):
        entry_points = _CONSOLE_SCRIPTS.search(sources.read_text(file))
        names += _ENTRY_POINT.findall(entry_points[1]) if entry_points else []
    script_list = _SCRIPTS.search(sources.read_text("setup.py"))
    if script_list:
        names += [PurePosixPath(file).name for file in re.findall(r"[\"']([\w./-]+)[\"']", script_list[1])]
    return list(dict.fromkeys(filter(is_plain_path, names)))


def _list_modules(sources: Sources, project: dict[str, Any]) -> list[str]:
    """Return the modules of a project without a package: declared modules and extensions, else one with its name."""
    # Modules in setup.py.
    setup = sources.read_text("setup.py")
    names: list[Any] = _EXTENSION.findall(setup)
    module_list = _MODULES.search(setup)
    if module_list:
        names += re.findall(r"[\"'](\w+)[\"']", module_list[1])
    # Modules in pyproject.toml.
    tool = project.get("tool")
    setuptools = tool.get("setuptools") if isinstance(tool, dict) else None
    table = setuptools if isinstance(setuptools, dict) else {}
    extensions, files = table.get("ext-modules"), table.get("py-modules")
    if isinstance(extensions, list):
        names += [extension.get("name") for extension in extensions if isinstance(extension, dict)]
    if isinstance(files, list):
        names += files
    # A module with the project's name.
    project_table = project.get("project")
    if isinstance(project_table, dict):
        names.append(_normalize_name(str(project_table.get("name", ""))))
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name.isidentifier()))


def _normalize_name(name: str) -> str:
    """Return the usual name of a project's module: in lower case, with underscores."""
    return name.lower().replace("-", "_").replace(".", "_")

"""Java: built by Maven, or by javac if there is no build system; the programs are classes with a main method."""

import re
from pathlib import PurePosixPath

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import Sources, is_auxiliary

_MAIN = re.compile(r"\bstatic\s+(?:public\s+)?void\s+main\s*\(|\bvoid\s+main\s*\(\s*(?:final\s+)?String\b")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_BENCHMARK = re.compile(r"bench|perf", re.IGNORECASE)
_MODULE = re.compile(r"<module>([\w./\s-]+)</module>")
_GOALS = "-DskipTests package dependency:copy-dependencies -DincludeScope=runtime"
_MODES = (" --offline", "")
"""Options of Maven and Gradle: first use only the packages of this host, then download."""
_MAX_MODULES = 2
_MAX_CLASSES = 5
_MAX_CLASSES_WITH_FILES = 2
"""How many classes are also tried with files, which takes several starts of the JVM for each class."""
_MAX_READ_SOURCES = 200
"""The largest number of sources that are read to find main classes."""
_CLASSES_FOLDER = "faultwatch-classes"


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build all classes, and to run those that have a main method, benchmarks first."""
    files = [
        file
        for file in sources.find_files_by_suffix(".java")
        if re.fullmatch(r"[\w./-]+", file) and not is_auxiliary(file)
    ]
    main_classes = _find_main_classes(sources, files)
    classes = list(main_classes)
    if not classes:
        return []
    if sources.has("pom.xml"):
        return _propose_maven(sources, main_classes)
    if sources.has("build.gradle", "build.gradle.kts"):
        gradle, tools = ("./gradlew", ("java",)) if sources.has("gradlew") else ("gradle", ("gradle", "java"))
        runs = _list_run_proposals("build/classes/java/main:build/resources/main", classes)
        return [
            BuildProposal("Gradle", f"{gradle} --no-daemon --quiet{mode} classes", tools, runs=runs, offline=bool(mode))
            for mode in _MODES
        ]
    command = build_shell_command(f"javac -d {_CLASSES_FOLDER} {' '.join(_list_roots(files))}")
    return [BuildProposal("Java", command, ("javac", "java"), runs=_list_run_proposals(_CLASSES_FOLDER, classes))]


def _propose_maven(sources: Sources, main_classes: dict[str, str]) -> list[BuildProposal]:
    """Return the builds of each module with a main class, together with the modules that it needs."""
    own_modules = {module.strip() for module in _MODULE.findall(sources.read_text("pom.xml"))}
    by_module: dict[str, list[str]] = {}
    for name, file in main_classes.items():
        module = next((str(folder) for folder in PurePosixPath(file).parents if str(folder) in own_modules), ".")
        by_module.setdefault(module, []).append(name)
    builds = []
    for module, classes in list(by_module.items())[:_MAX_MODULES]:
        selection = "" if module == "." else f" -pl {module} -am"
        target = "target" if module == "." else f"{module}/target"
        runs = _list_run_proposals(f"{target}/classes:{target}/dependency/*", classes)
        builds += [
            BuildProposal(
                "Maven",
                f"mvn --quiet --batch-mode{mode}{selection} {_GOALS}",
                ("mvn", "java"),
                runs=runs,
                offline=bool(mode),
            )
            for mode in _MODES
        ]
    return builds


def _list_run_proposals(path: str, classes: list[str]) -> tuple[RunProposal, ...]:
    """Return the commands that run the first few classes, given a class path; programs also take files."""
    runs: list[RunProposal] = []
    for name in classes[:_MAX_CLASSES]:
        command = f"java -cp {path} {name}"
        is_benchmark = _BENCHMARK.search(name) is not None
        takes_files = not is_benchmark and sum(run.takes_files for run in runs) < _MAX_CLASSES_WITH_FILES
        runs.append(RunProposal(command, may_do_nothing=not is_benchmark, program=command, takes_files=takes_files))
        if takes_files:
            runs.append(RunProposal(f"{command} --help", may_do_nothing=True, program=command))
    return tuple(runs)


def _find_main_classes(sources: Sources, files: list[str]) -> dict[str, str]:
    """Return the source files of the main classes, by full class name; benchmarks first, then classes near the top."""
    sorted_files = sorted(files, key=lambda file: (not _BENCHMARK.search(file), file.count("/"), file))
    file_by_class: dict[str, str] = {}
    for file in sorted_files[:_MAX_READ_SOURCES]:
        text = sources.read_text(file)
        if _MAIN.search(text):
            package = _PACKAGE.search(text)
            stem = PurePosixPath(file).stem
            name = f"{package[1]}.{stem}" if package else stem
            if re.fullmatch(r"[\w.]+", name):
                file_by_class.setdefault(name, file)
    return file_by_class


def _list_roots(files: list[str]) -> list[str]:
    """Return shell patterns that match all source files, one pattern for each folder."""
    folders = dict.fromkeys(str(PurePosixPath(file).parent) for file in files)
    return [f"{folder}/*.java" if folder != "." else "*.java" for folder in folders]

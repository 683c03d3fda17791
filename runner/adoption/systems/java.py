"""Java: built by Maven, or by javac if there is no build system; the programs are classes with a main method.

A library that Maven builds is run by its tests.
"""

import re
from pathlib import PurePosixPath

from runner.adoption.proposal import BuildProposal, RunProposal, build_shell_command
from runner.adoption.sources import Sources, is_auxiliary
from runner.subject.package_managers import MAVEN

_MAIN = re.compile(r"\bstatic\s+(?:public\s+)?void\s+main\s*\(|\bvoid\s+main\s*\(\s*(?:final\s+)?String\b")
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_BENCHMARK = re.compile(r"bench|perf", re.IGNORECASE)
_MODULE = re.compile(r"<module>([\w./\s-]+)</module>")
_GOALS = "-DskipTests package dependency:copy-dependencies -DincludeScope=runtime"
_MODES = (" --offline", "")
"""Options of Maven and Gradle: first use only the packages of this host, then download."""
_MAX_MODULES = 2
"""The largest number of modules with main classes that are proposed."""
_MAX_CLASSES = 5
"""The largest number of classes of a build that are tried."""
_MAX_CLASSES_WITH_FILES = 2
"""How many classes are also tried with files, which takes several starts of the JVM for each class."""
_MAX_READ_SOURCES = 200
"""The largest number of sources that are read to find main classes."""
_TEST = re.compile(r"@(?:Test|ParameterizedTest)\b|\bextends\s+TestCase\b")
_SOURCE_FOLDER = "/src/main/java/"
_TEST_FOLDER = "src/test/java/"
_JUNIT = "junit-platform-console-standalone"
_JUNIT_VERSION = "1.11.4"
"""JUnit's own launcher, which also runs tests of JUnit 3 and 4. Later versions need a later Java than 8."""
_TEST_GOALS = (
    "test-compile dependency:copy-dependencies -DincludeScope=test "
    f"dependency:copy -Dartifact=org.junit.platform:{_JUNIT}:{_JUNIT_VERSION}"
)
_MAX_TEST_CLASSES = 3
"""How many classes of tests are programs of their own, because all tests together may take long."""
_CLASSES_FOLDER = "faultwatch-classes"


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to build all classes, and to run those that have a main method, benchmarks first.

    With Maven, propose to run the tests too.
    """
    files = [
        file
        for file in sources.find_files_by_suffix(".java")
        if re.fullmatch(r"[\w./-]+", file) and not is_auxiliary(file)
    ]
    # Maven and Gradle compile only these folders, unless a project configures others.
    compiled_files = [file for file in files if _SOURCE_FOLDER in f"/{file}"]
    has_build_system = sources.has("pom.xml", "build.gradle", "build.gradle.kts")
    file_by_main_class = _find_main_classes(sources, compiled_files if has_build_system and compiled_files else files)
    classes = list(file_by_main_class)
    if sources.has("pom.xml"):
        return [*_propose_maven(sources, file_by_main_class), *_propose_tests(sources)]
    if not classes:
        return []
    if sources.has("build.gradle", "build.gradle.kts"):
        gradle, tools = ("./gradlew", ("java",)) if sources.has("gradlew") else ("gradle", ("gradle", "java"))
        runs = _list_run_proposals("build/classes/java/main:build/resources/main", classes)
        return [
            BuildProposal("Gradle", f"{gradle} --no-daemon --quiet{mode} classes", tools, runs=runs, offline=bool(mode))
            for mode in _MODES
        ]
    command = build_shell_command(f"javac -d {_CLASSES_FOLDER} {' '.join(_list_roots(files))}")
    return [BuildProposal("Java", command, ("javac", "java"), runs=_list_run_proposals(_CLASSES_FOLDER, classes))]


def _propose_maven(sources: Sources, file_by_main_class: dict[str, str]) -> list[BuildProposal]:
    """Return the builds of the first modules with a main class, each together with the modules that it needs."""
    modules = _list_modules(sources)
    classes_by_module: dict[str, list[str]] = {}
    for name, file in file_by_main_class.items():
        classes_by_module.setdefault(_find_module(modules, file), []).append(name)
    builds = []
    for module, classes in list(classes_by_module.items())[:_MAX_MODULES]:
        selection, target = _select_module(module)
        runs = _list_run_proposals(f"{target}/classes:{target}/dependency/*", classes)
        builds.append(_make_maven_build(f"{selection} {_GOALS}", runs))
    return builds


def _propose_tests(sources: Sources) -> list[BuildProposal]:
    """Propose to run the tests of the module that has the most: they execute most of the code of a library.

    JUnit's own launcher runs them, because Maven starts another process for tests.
    """
    modules = _list_modules(sources)
    files_by_module: dict[str, list[str]] = {}
    for file in sources.find_files_by_suffix(".java"):
        if _TEST_FOLDER in file and re.fullmatch(r"[\w./-]+", file):
            files_by_module.setdefault(_find_module(modules, file), []).append(file)
    if not files_by_module:
        return []
    module, files = max(files_by_module.items(), key=lambda item: (len(item[1]), item[0]))
    texts = {file: sources.read_text(file) for file in files[:_MAX_READ_SOURCES]}
    test_files = sorted((file for file in texts if _TEST.search(texts[file])), key=lambda file: -len(texts[file]))
    if not test_files:
        return []
    selection, _ = _select_module(module)
    path = f"target/dependency/{_JUNIT}-{_JUNIT_VERSION}.jar:target/test-classes:target/classes:target/dependency/*"
    start = f"java -cp {path} org.junit.platform.console.ConsoleLauncher execute --disable-banner --details=none"
    names = [file.rpartition(_TEST_FOLDER)[2].removesuffix(".java").replace("/", ".") for file in test_files]
    selections = ["--scan-classpath=target/test-classes"]
    selections += [f"--select-class={name}" for name in names[:_MAX_TEST_CLASSES]]
    # Tests look for their files in the folder of their module.
    commands = [f"{start} {selected_tests}" for selected_tests in selections]
    if module != ".":
        commands = [build_shell_command(f"cd {module}", f"exec {command}") for command in commands]
    runs = tuple(RunProposal(command, may_do_nothing=True, is_test=True, program=command) for command in commands)
    return [_make_maven_build(f"{selection} {_TEST_GOALS}", runs, builds_tests=True)]


def _make_maven_build(arguments: str, runs: tuple[RunProposal, ...], *, builds_tests: bool = False) -> BuildProposal:
    """Return a build that downloads only the packages that this host lacks.

    With ``--offline``, it would fail on a host that has none yet. Without, it works in a sandbox without a network too.
    """
    return BuildProposal(
        "Maven",
        f"mvn --quiet --batch-mode{arguments}",
        ("mvn", "java"),
        {MAVEN.variable: MAVEN.setting},
        runs=runs,
        builds_tests=builds_tests,
    )


def _list_modules(sources: Sources) -> set[str]:
    """Return the folders of the modules that the top ``pom.xml`` lists."""
    return {module.strip() for module in _MODULE.findall(sources.read_text("pom.xml"))}


def _find_module(modules: set[str], file: str) -> str:
    """Return the folder of the module to which a file belongs; ``.`` for the top one."""
    return next((str(folder) for folder in PurePosixPath(file).parents if str(folder) in modules), ".")


def _select_module(module: str) -> tuple[str, str]:
    """Return Maven's options for a module and those that it needs, and the folder in which it is built."""
    return ("", "target") if module == "." else (f" -pl {module} -am", f"{module}/target")


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

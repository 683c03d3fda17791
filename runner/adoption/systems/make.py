"""Make."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from msgspec import Struct, field

from runner.adoption.proposal import JOBS_OPTION, BuildProposal, build_shell_command
from runner.adoption.sources import Sources
from runner.adoption.systems.documented_assignments import find_usual_assignments

_NAMES = ("GNUmakefile", "makefile", "Makefile")
_TEMPLATES = tuple(f"Makefile.{kind}" for kind in ("vanilla", "linux", "unix", "gcc", "gnu", "generic", "default"))
"""Makefiles that users are meant to copy or to choose, if a project has no other."""
_MAX_FOLDERS = 3
"""How many folders with makefiles are proposed, and how many folders of a recipe are made."""
_NO_PROGRAM = re.compile(
    r"\.|install|clean|deploy|publish|push|upload|release|flash|fmt|format|lint|check|depend|dirs?$|docs?$|help"
)
"""Targets that build no program, and are never made alone."""
_MAX_PARTS = 4
"""How many prerequisites of the default target are proposed alone."""
_MAX_EXPANSIONS = 3
"""How many levels of nested variables are expanded."""
_MAX_VALUE_CHARACTERS, _MAX_LINE_CHARACTERS = 1000, 10_000
_HELPER_FOLDER = re.compile(r"misc|tools?|scripts?|doc|man|po|ci|packag(?:e|ing)|\..*", re.IGNORECASE)
"""Folders whose makefiles build no program of the project."""
_OTHER_SYSTEM = re.compile(
    r"bsd|mac|darwin|osx|ios|win|mingw|msvc|vc\d|android|wasm|emscripten|"
    r"cuda|hip\b|rocm|opencl|sycl|metal|offload|openacc|gpu|fpga|nvamg|"
    r"cilk|mkl|kokkos|raja|qthreads|hpx|\bupc\b|shmem|xeon|\bphi\b|\bknl\b",
    re.IGNORECASE,
)
"""Folders for another operating system, for accelerators or for other products, for which most hosts lack the tools."""
_USUAL_VARIANT = re.compile(r"(?:^|/)(?:ref|reference|serial|src|cpu|openmp|omp)(?:/|$)", re.IGNORECASE)
"""Folders of the variant that most hosts can build, if a project has several."""
_USUAL_MACHINE = re.compile(r"gcc|gnu|g\+\+|linux|unix|serial|mpi|omp|generic|default", re.IGNORECASE)
_VENDOR = re.compile(
    r"intel|icc|icx|ifort|cray|ibm|xl[cf]?\b|pgi|nvhpc|aocc|clang|bg[lpq]|hp\b|sun|sgi|aix", re.IGNORECASE
)
"""Machines and compilers that most hosts have, and those of vendors, in the names of targets and their makefiles."""
_RULE = re.compile(r"([\w./ -]+):(?![:=])(.*)")
_VARIABLE = re.compile(r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?+]?=[ \t]*(.*)$", re.MULTILINE)
_VARIABLE_REFERENCE = re.compile(r"\$[({](\w+)[)}]")
_LINKING = re.compile(r"\s-o\s*(?:\S*/)?(?:\$@|\$\(@\)|[\w-]+)(?:\s|$)")
"""A recipe that names a program without a suffix as the output of a compiler."""
_STARTED_WORD = re.compile(r"(?:^|[;&|])[\s@+-]*([\w./-]+)(?=\s|[;&|]|$)", re.MULTILINE)
"""The first word of a command in a recipe."""
_USUAL_TARGETS = ("all", "benchmark", "benchmarks", "bench", "examples", "test", "tests")
_MAKE_FOLDER = re.compile(r"\bmkdir((?:[ \t]+[^\s;&|<>]+)+)")
_OWN_FOLDER = re.compile(r"(?!\.)\w[\w.-]*(?:/\w[\w.-]*)*/?")
"""A relative path, without variables."""
_OUTSIDE_COMMAND = re.compile(
    r"(?<![\w./-])(?:docker(?:-compose)?|podman|nerdctl|buildah|sudo|doas|vagrant)(?![\w./-])"
)
"""Commands that change this host, or work on another one, instead of building in the tree."""


def propose(sources: Sources) -> list[BuildProposal]:
    """Propose to make the target with the project's name, then the default target, then other usual targets.

    Where a target only runs programs, such as tests, these are made instead of it, unless the default target makes
    them. Targets that link a program, but which the default target does not need, come after them, all at once.
    Targets that work outside of the tree are left out. The default target is also proposed with the variables that a
    document assigns to choose a usual compiler. Without a makefile at the top, the makefiles of several folders
    are proposed, because one may be for another operating system.
    """
    return [proposal for file in _list_makefiles(sources) for proposal in _propose_targets(sources, file)]


def _list_makefiles(sources: Sources) -> list[str]:
    """Return the makefiles nearest to the top: one for each of a few folders."""
    nearest_files = sources.list_nearest_files(*_NAMES) or sources.list_nearest_files(*_TEMPLATES)
    makefile_by_folder: dict[str, str] = {}
    for file in nearest_files:
        makefile_by_folder.setdefault(str(PurePosixPath(file).parent), file)
    folders = [folder for folder in makefile_by_folder if not _HELPER_FOLDER.fullmatch(PurePosixPath(folder).name)]
    # The usual variant comes first, and folders for other systems come last.
    folders.sort(key=lambda folder: (bool(_OTHER_SYSTEM.search(folder)), not _USUAL_VARIANT.search(folder)))
    return [makefile_by_folder[folder] for folder in folders[:_MAX_FOLDERS]]


def _propose_targets(sources: Sources, file: str) -> list[BuildProposal]:
    """Return the builds of a makefile's targets: the target with the project's name first, because it builds least."""
    folder = PurePosixPath(file).parent
    folder_option = "" if str(folder) == "." else f" -C {folder}"
    is_template = PurePosixPath(file).name not in _NAMES
    copy_steps = [f"cp {file} {folder / 'Makefile'}"] if is_template else []
    text = sources.read_text(file)
    rules, outside_targets = _parse_rules(text), find_outside_targets(text)
    default = next((name for name in rules if not name.startswith(".")), "")
    project_targets = [
        name
        for name in rules
        if name.lower() == sources.name.lower() and name != default and name not in outside_targets
    ]
    targets = project_targets[:1]
    if default not in outside_targets:
        targets.append("")  # without a target, make builds its default
    targets += _choose_machine_targets(sources, folder, rules)
    # A target that only runs a benchmark or tests would run them in each build: its programs are made instead.
    programs_by_target = {name: programs for name in rules if (programs := _list_started_programs(rules[name]))}
    default_names = _collect_prerequisites(rules, default)
    targets += [
        name
        for name in _USUAL_TARGETS
        if name in rules
        and name not in {*targets, *outside_targets}
        and not (name in programs_by_target and programs_by_target[name] <= default_names)
    ]
    # Examples and tools are often made only if they are named.
    other_targets = _list_linked_targets(rules, {*targets, *default_names, *outside_targets})
    last_targets = [" ".join(other_targets)] if other_targets else []
    # If one program of the default target cannot be built, the others may be.
    part_targets = _list_parts(rules, default, {*targets, *outside_targets})
    goals_by_target = {name: " ".join(sorted(programs)) for name, programs in programs_by_target.items()}
    # If the makefile builds nothing until a variable names the compiler, the documents say how.
    assignments = find_usual_assignments(sources, {name for name, _ in _VARIABLE.findall(text)} | _list_read(text))
    if assignments and "" in targets:
        targets.insert(targets.index("") + 1, assignments)
    return [
        BuildProposal(
            "Make",
            build_shell_command(
                *copy_steps, f"make{folder_option} {JOBS_OPTION} {goals_by_target.get(target, target)}".rstrip()
            ),
            ("make",),
            # The target with the project's name builds only the program of that name.
            builds_tests=target.startswith("bench")
            or target in last_targets
            or (bool(project_targets) and target not in {project_targets[0], *part_targets}),
            is_reduced=target in part_targets,
            depth=file.count("/"),
        )
        for target in [*targets, *part_targets, *last_targets]
    ]


def _list_read(text: str) -> set[str]:
    """Return the variables that a makefile reads."""
    return set(_VARIABLE_REFERENCE.findall(text))


def _list_linked_targets(rules: "Mapping[str, _Rule]", excluded_targets: Collection[str]) -> list[str]:
    """Return the first few targets that link a program."""
    linked_targets = [
        name
        for name, rule in rules.items()
        if _LINKING.search(rule.recipe) and not _NO_PROGRAM.search(name) and name not in excluded_targets
    ]
    return linked_targets[:_MAX_PARTS]


def _list_parts(rules: "Mapping[str, _Rule]", default: str, excluded_targets: Collection[str]) -> list[str]:
    """Return the first few programs that the default target consists of; none if there is no default."""
    prerequisites = rules[default].prerequisites if default else ()
    parts = [
        name
        for name in rules
        if name in prerequisites and not _NO_PROGRAM.search(name) and name not in excluded_targets
    ]
    return parts[:_MAX_PARTS]


def list_variables(sources: Sources) -> list[tuple[str, str]]:
    """Return the variables that the makefiles nearest to the top set, with their values, in the order of the files."""
    return [variable for file in _list_makefiles(sources) for variable in _VARIABLE.findall(sources.read_text(file))]


def list_made_folders(sources: Sources, folder: str) -> list[str]:
    """Return a few folders that the recipes of a folder's makefile make in that folder, such as those of its tests.

    Tracked folders are left out, because they exist.
    """
    prefix = f"{folder}/" if folder else ""
    text = next(filter(None, (sources.read_text(f"{prefix}{name}") for name in _NAMES)), "")
    recipes = {rule.recipe for rule in _parse_rules(text).values()}
    words = [word for recipe in recipes for words in _MAKE_FOLDER.findall(recipe) for word in words.split()]
    own_words = [word.rstrip("/") for word in words if _OWN_FOLDER.fullmatch(word)]
    return sorted(word for word in set(own_words) if not sources.has_folder(f"{prefix}{word}"))[:_MAX_FOLDERS]


def find_outside_targets(makefile_text: str) -> set[str]:
    """Return the targets that work outside of the tree, directly or by a prerequisite: in a container, or as root."""
    rules = _parse_rules(makefile_text)
    dependent_targets: defaultdict[str, set[str]] = defaultdict(set)
    for name, rule in rules.items():
        for prerequisite in rule.prerequisites:
            dependent_targets[prerequisite].add(name)
    outside_targets: set[str] = set()
    new_targets = {name for name, rule in rules.items() if _OUTSIDE_COMMAND.search(rule.recipe)}
    while new_targets:
        outside_targets |= new_targets
        # The targets with one of the previous targets as a prerequisite.
        new_targets = {name for target in new_targets for name in dependent_targets[target]} - outside_targets
    return outside_targets


def _collect_prerequisites(rules: dict[str, "_Rule"], target: str) -> set[str]:
    """Return a target with all targets that it needs, directly or indirectly."""
    collected: set[str] = set()
    new_names = {target}
    while new_names:
        collected |= new_names
        new_names = {
            name for target in new_names if target in rules for name in rules[target].prerequisites
        } - collected
    return collected


def _list_started_programs(rule: "_Rule") -> set[str]:
    """Return the prerequisites that a rule only starts, such as its tests; empty if it links a program of its own."""
    if _LINKING.search(rule.recipe):
        return set()
    words = {word.removeprefix("./") for word in _STARTED_WORD.findall(rule.recipe)}
    return words & rule.prerequisites


class _Rule(Struct, dict=True):
    """The prerequisites and the recipe of a target, with variables expanded."""

    prerequisites: set[str] = field(default_factory=set)
    recipe: str = ""


def _choose_machine_targets(sources: Sources, folder: PurePosixPath, rules: "Mapping[str, _Rule]") -> list[str]:
    """Return the target for a usual machine, if each machine has a makefile: ``make linux`` uses ``Makefile.linux``."""
    names = [name for name in rules if sources.has(str(folder / f"Makefile.{name}"))]
    usual_names = [name for name in names if not _VENDOR.search(name) and not _OTHER_SYSTEM.search(name)]
    return sorted(usual_names, key=lambda name: not _USUAL_MACHINE.search(name))[:1]


def _parse_rules(text: str) -> dict[str, _Rule]:
    """Return the rules of a makefile by target, in the order of the file."""
    variables = dict(_VARIABLE.findall(text))
    rules: dict[str, _Rule] = {}
    current_rules: list[_Rule] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for rule in current_rules:
                rule.recipe += f"{_expand_variables(line, variables)}\n"
            continue
        targets, colon, rest = line.partition(":")
        match = _RULE.fullmatch(_expand_variables(targets, variables) + colon + rest)
        if match:
            prerequisites, _, recipe = match[2].partition(";")
            current_rules = [rules.setdefault(name, _Rule()) for name in match[1].split()]
            for rule in current_rules:
                rule.prerequisites.update(_expand_variables(prerequisites, variables).split())
                rule.recipe += f"{_expand_variables(recipe, variables)}\n"
    return rules


def _expand_variables(text: str, variables: dict[str, str]) -> str:
    """Return a line with its variables expanded, up to a depth and a length: a variable can refer to itself."""
    for _ in range(_MAX_EXPANSIONS):
        text = _VARIABLE_REFERENCE.sub(lambda match: variables.get(match[1], "")[:_MAX_VALUE_CHARACTERS], text)
        text = text[:_MAX_LINE_CHARACTERS]
    return text

"""The documents say what is true: targets, links, dependencies, commands. And no file says where packages come from."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT)
    for pattern in ("*.md", "docs/**/*.md", "workloads/*/README.md")
    for path in ROOT.glob(pattern)
)
# In pieces, so that this file is not one that names them.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "yarnpkg", "com"),
        ("crates", "io"),
        ("proxy", "golang", "org"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
        ("ghcr", "io"),
        ("unpkg", "com"),
        ("cdn", "jsdelivr", "net"),
    )
]


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name.decode() for name in names.split(b"\0") if name]


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z][a-z0-9%-]*)(?: [a-z0-9-]+)*:", text, re.MULTILINE))


def anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_exists(name: str) -> None:
    used = set(re.findall(r"(?:^|`)make ([a-z][A-Za-z0-9-]*)", (ROOT / name).read_text(), re.MULTILINE))
    known = targets()
    assert used
    unknown = {one for one in used if one not in known and not (one.startswith("bench-") and "bench-%" in known)}
    assert not unknown


def test_the_help_lists_every_target_for_people() -> None:
    text = (ROOT / "Makefile").read_text()
    listed = set(re.findall(r"^([a-z0-9%-]+):.*## ", text, re.MULTILINE))
    groups = ("aarch64", "fresh", "hosts", "image", "operations", "programs", "projects", "tests")
    internal = {"system", *(f"system-{name}" for name in groups)}
    assert targets() - listed == internal


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_text_is_not_wider_than_the_code(document: Path) -> None:
    """Tables, pictures and blocks cannot be wrapped."""
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(), flags=re.DOTALL)
    assert not [line for line in text.splitlines() if len(line) > 120 and not line.lstrip().startswith(("|", "!["))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_relative_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(), flags=re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (ROOT / document).parent / path if path else ROOT / document
        titles = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE) if fragment and file.is_file() else []
        if not file.exists() or (fragment and fragment not in map(anchor, titles)):
            broken.append(target)
    assert not broken


def dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for group in project["optional-dependencies"].values() for one in group)]
    names = {re.split(r"[^A-Za-z0-9_.-]", requirement, maxsplit=1)[0] for requirement in wanted}
    package = json.loads((ROOT / "package.json").read_text())
    return sorted(names | set(package.get("dependencies", {})) | set(package.get("devDependencies", {})))


def documented() -> list[str]:
    text = (ROOT / "docs" / "project" / "dependencies.md").read_text().partition("## On the system")[0]
    return sorted(set(re.findall(r"^\| ([A-Za-z0-9_.-]+) \|", text, re.MULTILINE)) - {"package"})


def test_every_dependency_has_its_reason_and_none_is_left_over() -> None:
    assert documented() == dependencies()


def test_every_command_of_the_readme_exists() -> None:
    from runner.cli.entry_point import COMMANDS

    used = set(
        re.findall(r"faultwatch (?!demo history)([a-z]+)(?= |`|$)", (ROOT / "README.md").read_text(), re.MULTILINE)
    )
    assert {"doctor", "measure", "history", "demo"} <= used
    assert used <= set(COMMANDS)


def test_every_command_has_its_row_in_the_table_of_exit_codes() -> None:
    from runner.cli.entry_point import COMMANDS

    table = (
        (ROOT / "docs" / "reference" / "commands.md")
        .read_text(encoding="utf-8")
        .partition("| command | exit code 1 |")[2]
    )
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    assert set(rows) == set(COMMANDS)
    for name, meaning in rows.items():
        modules = [ROOT / "runner" / "cli" / f"{stem}.py" for stem in (name, f"{name}_")]
        (text,) = [file.read_text(encoding="utf-8") for file in modules if file.exists()]
        fails = re.search(r"Exit\(1\)|exit\(", text)
        assert bool(fails) is (meaning != "never"), name


def test_no_file_names_the_address_of_a_registry() -> None:
    found = []
    for file in tracked():
        if file.is_file():
            data = file.read_bytes()
            found += [(str(file.relative_to(ROOT)), host) for host in REGISTRIES if host.encode() in data]
    assert not found


@pytest.mark.parametrize(
    "name",
    [
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-runner.txt",
        "requirements-hosts.txt",
        "requirements-bench.txt",
        "package-lock.json",
    ],
)
def test_lock_files_hold_hashes_and_no_address(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "sha256:" in text or "sha512-" in text
    assert not re.search(r"(?:https?|git|file):|--index-url|--find-links|\"resolved\"", text)


def test_the_license_is_the_one_that_is_declared() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0" in text
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"] == "Apache-2.0"

"""What the pages need is in the tree, in the versions of the lock file."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "setup" / "vendor_packages.py"))
VENDORED, NODE_MODULES = SCRIPT["VENDORED"], SCRIPT["NODE_MODULES"]


def test_the_tree_has_the_versions_of_the_lock_file() -> None:
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    wanted = {name: locked[f"node_modules/{name}"]["version"] for name in locked[""]["dependencies"]}
    there = {file.parents[1].name: file.parent.name for file in VENDORED.glob("*/*/*.js")}
    assert there == wanted, "run `make vendor`"


def test_the_licenses_are_those_of_all_packages_of_the_lock_file() -> None:
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    text = (VENDORED / "LICENSES.txt").read_text()
    for place, package in locked.items():
        if place:
            assert f"===== {place.removeprefix('node_modules/')} {package['version']} =====" in text


@pytest.mark.skipif(not NODE_MODULES.is_dir(), reason="the packages of npm are not installed")
def test_the_tree_has_the_files_of_the_packages(tmp_path: Path) -> None:
    SCRIPT["vendor_packages"](NODE_MODULES, tmp_path / "vendored")
    assert read_all(tmp_path / "vendored") == read_all(VENDORED)


def test_packages_that_are_not_installed_leave_the_tree_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "vendored").mkdir()
    (tmp_path / "vendored" / "file").touch()
    with pytest.raises(FileNotFoundError):
        SCRIPT["vendor_packages"](tmp_path / "node_modules", tmp_path / "vendored")
    assert list(read_all(tmp_path / "vendored")) == ["file"]


def read_all(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

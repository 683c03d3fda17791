"""What an upgrade of the host can change about measured programs is a setting."""

from pathlib import Path

import pytest

from runner.environment.programs_and_libraries import read_library_settings, read_run_settings
from runner.system.tree import Tree
from tests.runner.environment.made_programs import tool


def test_an_interpreter_and_what_it_loads_are_settings() -> None:
    found = read_run_settings(Tree(), ["python3", "x.py"], "/usr/local/bin:/usr/bin:/bin")
    assert "python3" in (found["program"] or "")
    assert "sha256" in (found["library.libc.so.6"] or "")
    assert read_run_settings(Tree(), ["./python3"], "/usr/bin")["program"] is None, "a program of the revision"


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        (("env", "PORT={port}", "node", "server.js"), {"env", "node"}),
        (("sh", "-c", "cd app && exec java -Xbatch -cp . Server {port}"), {"sh", "java"}),
        (("./run.sh", "{port}"), {"java", "node"}),
        (("sh", "run.sh", "{port}"), {"sh", "java", "node"}),
        (("sh", "{workload}/start.sh", "java"), {"sh", "node"}),
        (("{workload}/start", "java"), {"node"}),
        (("./server", "node"), set()),
        (("node", "run.sh"), {"node"}),
    ],
)
def test_a_runtime_behind_a_script_is_a_setting(tmp_path: Path, command: tuple[str, ...], programs: set[str]) -> None:
    folder, own = tmp_path / "bin", tmp_path / "own"
    for name in ("sh", "env", "java", "node"):
        tool(folder, name)
    own.mkdir()
    for name in ("start.sh", "start"):
        (own / name).write_text("#!/bin/sh\nset -e\nexec node --single-threaded server.js\n")
    words = [word.replace("{workload}", str(own)) for word in command]
    settings = read_run_settings(Tree(), words, str(folder), own)
    identified = {name: value for name, value in settings.items() if name.partition(".")[0] == "program" and value}
    assert {str(value).partition(",")[0] for value in identified.values()} == {str(folder / name) for name in programs}
    assert ("program" in identified) is (command[0] in {"sh", "env", "node"})


def test_a_relative_path_leads_to_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "odd-tool")
    monkeypatch.chdir(tmp_path)
    assert read_run_settings(Tree(), ["odd-tool"], ".")["program"] is None


def test_what_the_loader_preloads_into_everything_is_a_setting(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    assert read_library_settings(Tree(tmp_path))["loader.preload"] is None
    (tmp_path / "opt.so").write_text("library")
    (tmp_path / "etc" / "ld.so.preload").write_text("# none\n/opt.so /gone.so\n")
    shown = read_library_settings(Tree(tmp_path))["loader.preload"]
    assert shown is not None
    assert shown.startswith("/opt.so (sha256 ")
    assert shown.endswith("/gone.so (not there)")


@pytest.mark.parametrize("name", ["libstdc++.so.6", "libgcc_s.so.1", "libgfortran.so.5", "libgomp.so.1", "libm.so.6"])
def test_another_version_of_a_library_that_compilers_add_is_one_other_setting(name: str, tmp_path: Path) -> None:
    others = {"libstdc++.so.6", "libm.so.6", "libgomp.so.1"} - {name}
    for one in (name, *others):
        tool(tmp_path / "usr/lib", one, "first")
    before = read_library_settings(Tree(tmp_path))
    tool(tmp_path / "usr/lib", name, "other", modified=1.1e9)
    after = read_library_settings(Tree(tmp_path))
    assert {setting for setting in before | after if before.get(setting) != after.get(setting)} == {f"library.{name}"}

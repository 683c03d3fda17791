"""What an upgrade of the host can change about the tools of a build is a setting; what a revision changes is none."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.contract.report import Environment
from runner.environment.build_tools import _identify_rustup_program, read_build_settings
from tests.runner.environment.made_programs import tool


def settings(folder: Path, command: str = "sh -c 'odd-tool x && make'", **more: object) -> dict[str, str]:
    path = more.pop("path", f"{folder}:/usr/bin:/bin")
    found = read_build_settings(shlex.split(command), more.pop("needs", ()), str(path))  # type: ignore[arg-type]
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize("name", ["make", "go", "rustc", "clang", "python3", "odd-tool", "needed-tool"])
def test_another_version_of_a_tool_is_another_setting(name: str, tmp_path: Path) -> None:
    tool(tmp_path / "bin", name)
    before = settings(tmp_path / "bin", needs=["needed-tool"])
    tool(tmp_path / "bin", name, modified=1.1e9)
    after = settings(tmp_path / "bin", needs=["needed-tool"])
    assert {setting for setting in before | after if before.get(setting) != after.get(setting)} == {f"tool.{name}"}


def test_a_word_of_a_command_that_is_a_programs_name_too_is_no_setting(tmp_path: Path) -> None:
    for name in ("install", "test"):
        tool(tmp_path / "bin", name)
    found = settings(tmp_path / "bin", "python3 setup.py install --record test")
    assert not {"tool.install", "tool.test"} & found.keys()
    assert "tool.test" in settings(tmp_path / "bin", "test setup.py")


def test_tools_are_those_of_the_builds_path_not_of_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    tool(ours, "cc", "#!/bin/sh\necho ours\n")
    tool(theirs, "cc", "#!/bin/sh\necho theirs\n")
    monkeypatch.setenv("PATH", f"{theirs}:{os.environ['PATH']}")
    assert settings(ours)["compiler.cc"].startswith(f"{ours}/cc, ")
    assert settings(tmp_path, path="/nonexistent") == {}


def test_a_workload_cannot_name_programs_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "odd-tool")
    monkeypatch.chdir(tmp_path)
    assert "tool.odd-tool" not in settings(tmp_path, path=".:/usr/bin")
    assert "tool.odd-tool" not in settings(tmp_path, path="")


def test_nothing_that_only_the_workloads_path_leads_to_is_executed(tmp_path: Path) -> None:
    """A stranger's workload names a folder of the checkout, whose place on a host of a CI is known."""
    names = ("cc", "c++", "gfortran", "ld", "rustc", "rustup", "odd-tool")
    for name in names:
        tool(tmp_path / "bin", name, f"#!/bin/sh\n: > {tmp_path}/executed-{name}\n")
    found = settings(tmp_path / "bin")
    assert not list(tmp_path.glob("executed-*"))
    assert found["compiler.cc"].startswith(f"{tmp_path}/bin/cc, ")


@pytest.mark.parametrize(
    ("stated", "shown"),
    [("go1.26.8\ntime 2026-08-28T16:20:06Z\n", ", go1.26.8"), ("go1.27rc1", ", go1.27rc1"), ("a secret", ""), ("", "")],
)
def test_go_is_known_by_its_version_though_it_is_not_executed(stated: str, shown: str, tmp_path: Path) -> None:
    tool(tmp_path / "go" / "bin", "go", f"#!/bin/sh\n: > {tmp_path}/executed\n")
    (tmp_path / "go" / "VERSION").write_text(stated)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "go").symlink_to(tmp_path / "go" / "bin" / "go")
    assert settings(tmp_path / "bin")["tool.go"].partition("2001-09-09 01:46:40")[2] == shown
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_rusts_default_toolchain_is_a_setting_though_a_proxy_starts_it(
    link: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    proxy = tool(tmp_path / ".cargo" / "bin", "rustup")
    link(proxy, proxy.with_name("rustc"))
    file = tmp_path / ".rustup" / "settings.toml"
    shown = []
    for toolchain in ("stable", "nightly"):
        compiler = tool(tmp_path / ".rustup" / "toolchains" / toolchain / "bin", "rustc")
        file.write_text(f'default_toolchain = "{toolchain}"\n')
        shown.append(settings(proxy.parent)["tool.rustc"])
        assert shown[-1].startswith(f"{compiler}, ")
    for content in ('default_toolchain = "../../.."\n', f"default_toolchain = {'[' * 5000}"):
        file.write_text(content)
        assert settings(proxy.parent)["tool.rustc"].startswith(f"{proxy}, ")


def test_a_tool_in_a_folder_whose_name_is_no_text_is_a_setting(tmp_path: Path) -> None:
    file = tool(tmp_path / os.fsdecode(b"caf\xe9"), "odd-tool")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "odd-tool").symlink_to(file)
    found = Environment(settings=settings(tmp_path / "bin"))
    assert found.settings["tool.odd-tool"].startswith(f"{tmp_path}/caf\\udce9/odd-tool, ")


def test_a_rustup_in_a_top_folder_has_no_known_toolchain() -> None:
    assert _identify_rustup_program(Path("/faultwatch-absent/rustup"), "rustc") is None

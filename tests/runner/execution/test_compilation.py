"""Programs of our own, built once."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.execution import compilation as module
from runner.execution.compilation import CompilationError, compile_program
from tests.power_cut import disk


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "answer.c"
    file.write_text('#include "answer.h"\nint main(void) { return ANSWER; }\n')
    (tmp_path / "answer.h").write_text("#define ANSWER 42\n")
    return file


def test_a_program_is_built_once_and_again_when_its_source_changes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, header = tmp_path / "cache", source.with_suffix(".h")
    program = compile_program(source, cache, headers=[header])
    assert subprocess.run([program], check=False).returncode == 42
    assert list(cache.iterdir()) == [program]
    header.write_text("#define ANSWER 43\n")
    other = compile_program(source, cache, headers=[header])
    assert subprocess.run([other], check=False).returncode == 43
    monkeypatch.setattr(module, "subprocess", None)
    assert compile_program(source, cache, headers=[header]) == other


def test_a_cache_that_cannot_be_looked_into_is_told(source: Path, tmp_path: Path) -> None:
    with pytest.raises(CompilationError, match=r"cannot be stored: File name too long"):
        compile_program(source, tmp_path / ("x" * 300))


def test_a_program_that_a_power_cut_left_empty_is_made_again(source: Path, tmp_path: Path) -> None:
    headers = [source.with_suffix(".h")]
    program = compile_program(source, tmp_path / "cache", headers=headers)
    program.write_bytes(b"")
    assert compile_program(source, tmp_path / "cache", headers=headers) == program
    assert subprocess.run([program], check=False).returncode == 42


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
@pytest.mark.parametrize("journal", [True, False], ids=["journal", "nothing"])
def test_a_program_survives_a_power_cut_right_after_it_was_compiled(
    journal: bool, source: Path, tmp_path: Path
) -> None:
    try:
        with disk(tmp_path / "disk", tmp_path / "storage", "32m") as storage:
            program = compile_program(source, storage.folder / "cache", headers=[source.with_suffix(".h")])
            storage.cut(journal=journal)
            storage.restart()
            assert subprocess.run([program], check=False).returncode == 42
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no file system can be mounted: {error}")


def test_hosts_of_several_architectures_share_a_cache(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on(machine: str) -> Path:
        monkeypatch.setattr(module.os, "uname", lambda: SimpleNamespace(machine=machine))
        return compile_program(source, tmp_path / "cache")

    assert on("x86_64") != on("aarch64")
    assert on("x86_64") == on("x86_64")


def test_options_that_the_compiler_does_not_take_are_left_out(source: Path, tmp_path: Path) -> None:
    assert compile_program(source, tmp_path / "cache", options=["--no-such-option"]).exists()


def test_a_compiler_that_fails_is_quoted_and_nothing_is_left(source: Path, tmp_path: Path) -> None:
    source.write_text("int main(void) { return }\n")
    with pytest.raises(CompilationError, match=r"answer\.c does not compile: cc ended with exit code 1: .*answer\.c"):
        compile_program(source, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_compiler_that_does_not_finish_says_nothing_about_the_source(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nexec sleep 60\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(module, "BASE_VARIABLES", {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    monkeypatch.setattr(module, "_TIMEOUT_SECONDS", 0.2)
    with pytest.raises(CompilationError, match=r"^cc did not finish compiling answer\.c within 0\.2 s$") as caught:
        compile_program(source, tmp_path / "cache")
    assert "less busy" in caught.value.remedy
    compiler.write_text("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(CompilationError, match=r"^cc, which compiles answer\.c, was terminated by signal 9"):
        compile_program(source, tmp_path / "cache")


def test_a_folder_that_cannot_be_made_is_told(source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CompilationError, match="cannot be stored: Not a directory"):
        compile_program(source, tmp_path / "file" / "cache")

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.environment import library_fingerprints
from runner.environment.capture import capture_environment
from runner.system.tree import Tree

Make = Callable[[str], Any]
JEMALLOC = hashlib.sha256(b"jemalloc 5.3.0\n").hexdigest()[:12]
IN_PLACE = f"jemalloc (libjemalloc.so.2, sha256 {JEMALLOC})"


@pytest.mark.parametrize(
    ("variables", "allocator"),
    [
        ({}, "glibc 2.36"),
        ({"LD_PRELOAD": ""}, "glibc 2.36"),
        ({"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"}, IN_PLACE),
        ({"LD_PRELOAD": "libjemalloc.so.2"}, IN_PLACE),
        ({"LD_PRELOAD": "libSegFault.so:libjemalloc.so.2"}, IN_PLACE),
        ({"LD_PRELOAD": "libSegFault.so libjemalloc.so.2"}, IN_PLACE),
        ({"LD_PRELOAD": "libSegFault.so"}, "glibc 2.36"),
        ({"LD_PRELOAD": "/opt/libtcmalloc.so.4"}, "glibc 2.36 (preloaded libtcmalloc.so.4 is not there)"),
        ({"LD_PRELOAD": "libmimalloc.so"}, "glibc 2.36 (preloaded libmimalloc.so is not there)"),
        ({"LD_PRELOAD": "*jemalloc*"}, "glibc 2.36 (preloaded *jemalloc* is not there)"),
        ({"LD_PRELOAD": "**jemalloc"}, "glibc 2.36 (preloaded **jemalloc is not there)"),
    ],
)
def test_allocator_that_the_process_gets(variables: dict[str, str], allocator: str, machine: Make) -> None:
    found = capture_environment(variables=variables, build_tools={}, root=machine("debian-laptop").root).settings
    assert found["allocator"] == allocator


def test_library_path_comes_first(machine: Make) -> None:
    laptop = machine("debian-laptop")
    laptop.change("opt/lib/libjemalloc.so.2", "another build")
    variables = {"LD_PRELOAD": "libjemalloc.so.2", "LD_LIBRARY_PATH": "/none:/opt/lib"}
    found = capture_environment(variables=variables, build_tools={}, root=laptop.root).settings
    digits = hashlib.sha256(b"another build\n").hexdigest()[:12]
    assert found["allocator"] == f"jemalloc (libjemalloc.so.2, sha256 {digits})"


def test_a_rebuilt_library_has_another_fingerprint(tmp_path: Path) -> None:
    library = tmp_path / "libjemalloc.so.2"
    library.write_bytes(b"one")
    before = library_fingerprints.hash_library(library)
    library.write_bytes(b"another")
    assert library_fingerprints.hash_library(library) != before


@pytest.mark.timeout(20)
@pytest.mark.parametrize("entry", ["{folder}/libjemalloc.so", "libjemalloc.so"])
def test_a_pipe_that_is_named_as_an_allocator_is_not_waited_for(entry: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "libjemalloc.so")
    variables = {"LD_PRELOAD": entry.format(folder=tmp_path), "LD_LIBRARY_PATH": str(tmp_path)}
    found = capture_environment(variables=variables, build_tools={}).settings
    assert found["allocator"].endswith("(preloaded libjemalloc.so is not there)")


def test_libraries_for_another_architecture_are_passed_over(tmp_path: Path) -> None:
    head = Path(sys.executable).read_bytes()[:20]
    foreign = head[:4] + bytes([3 - head[4]]) + head[5:]
    for name, content in {
        "proc/self/exe": head,
        "lib/libjemalloc.so.2": foreign,
        "usr/lib/libjemalloc.so.2": head,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert list(library_fingerprints.find_libraries(Tree(tmp_path), "libjemalloc*")) == [
        tmp_path / "usr/lib/libjemalloc.so.2"
    ]


def test_this_machine_tells_its_c_library() -> None:
    found = capture_environment(variables={}, build_tools={}).settings
    name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    assert found["allocator"] == f"{name} {version}"

"""Tests of :mod:`runner.profile.type_layouts`: the types of real programs, read in a sandbox, and of damaged files."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from runner.contract.profile import MAX_TYPES, TypeField, TypeLayout
from runner.execution.sandbox import create_sandbox
from runner.profile.type_layouts import TypeLayoutCache

C_SOURCE = """
#include <stdio.h>
#define SLOTS 32
typedef struct {
    const char *name;
    union { int code; char text[12]; } value;
    union { short low; };
    struct missing *next;
} entry;
struct table { entry slots[SLOTS]; struct { int used, full; } state; };
struct missing;
int main(void) { static struct table all; printf("%p", (void *)&all); return 0; }
"""
CPP_SOURCE = """
#include <string>
namespace shop {
struct Item { virtual ~Item() = default; long price; };
template <typename T> struct Box : Item { T content; static int n_boxes; };
}
int main() { shop::Box<char> box; std::string text; return static_cast<int>(box.price + text.size()); }
"""
GO_SOURCE = """package main

import "fmt"

type Base struct{ first, second int32 }
type Node struct {
	Base
	name string
}

func main() { fmt.Println(&Node{name: "n"}) }
"""


def build(folder: Path, source: str, *command: str) -> Path:
    """Return a program that a command has built from a source file in a folder."""
    folder.mkdir()
    name = {"cc": "a.c", "clang": "a.c", "g++": "a.cc", "go": "a.go"}[command[0]]
    (folder / name).write_text(source)
    subprocess.run([*command, "-o", "program", name], cwd=folder, check=True, env=os.environ | {"GOFLAGS": "-mod=mod"})
    return folder / "program"


def read(program: Path) -> dict[str, TypeLayout]:
    layouts = TypeLayoutCache().read([program], program.parent, create_sandbox())
    return {layout.name: layout for layout in layouts}


@pytest.mark.parametrize("options", [("-g",), ("-g", "-gdwarf-4"), ("-g", "-gz=zlib")], ids=["5", "4", "compressed"])
def test_the_types_of_a_c_program_are_read_with_their_fields_and_lines(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    types = read(build(tmp_path / "tree", C_SOURCE, "cc", *options))
    assert types.keys() == {"entry", "table"}, "neither types of the C library nor one that is only declared"
    assert types["entry"] == TypeLayout(
        name="entry",
        bytes=32,
        file="a.c",
        line=9,
        fields=(
            TypeField(name="name", bytes=8, line=5),
            TypeField(name="value.code", bytes=4, line=6),
            TypeField(name="value.text", bytes=12, line=6),
            TypeField(name="low", bytes=2, line=7),
            TypeField(name="next", bytes=8, line=8),
        ),
    )
    assert types["table"].fields[0] == TypeField(name="slots", type="entry", bytes=1024, line=10)


def test_the_types_of_a_cpp_program_have_their_namespaces_and_the_types_that_they_inherit(tmp_path: Path) -> None:
    types = read(build(tmp_path / "tree", CPP_SOURCE, "g++", "-g"))
    box = types["shop::Box<char>"]
    assert (box.bytes, [(field.name, field.type) for field in box.fields]) == (24, [("Item", "Item"), ("content", "")])
    assert not any(name.startswith("std") for name in types)


@pytest.mark.skipif(not shutil.which("go"), reason="no Go")
def test_the_types_of_a_go_program_are_those_of_its_own_packages(tmp_path: Path) -> None:
    program = build(tmp_path / "tree", GO_SOURCE, "go", "build")
    types = read(program)
    assert types.keys() == {"main.Base", "main.Node"}
    assert [(field.name, field.type, field.bytes) for field in types["main.Node"].fields] == [
        ("Base", "main.Base", 8),
        ("name", "string", 16),
    ]


def test_types_of_the_same_name_with_different_sizes_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    for name, n_fields in (("one", 1), ("two", 2)):
        fields = " ".join(f"int f{number};" for number in range(n_fields))
        (folder / f"{name}.c").write_text(
            f"struct job {{ {fields} }} {name}; struct {name}_list {{ int n; }} l_{name};\n"
        )
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-g", "-o", "program", "main.c", "one.c", "two.c"], cwd=folder, check=True)
    assert read(folder / "program").keys() == {"one_list", "two_list"}


def test_a_program_without_descriptions_of_types_has_none(tmp_path: Path) -> None:
    assert read(build(tmp_path / "lines", C_SOURCE, "cc", "-g1")) == {}
    assert read(build(tmp_path / "plain", C_SOURCE, "cc")) == {}
    assert read(Path(shutil.which("sh") or "/bin/sh")) == {}
    assert TypeLayoutCache().read([tmp_path / "missing"], tmp_path, create_sandbox()) == ()


def test_a_damaged_program_ends_the_reader_and_nothing_else(tmp_path: Path) -> None:
    """The reader is a program of its own: whatever it meets, the profile has no types, or some."""
    program = build(tmp_path / "tree", C_SOURCE, "cc", "-g")
    content = program.read_bytes()
    generator = random.Random(1)
    for number in range(12):
        damaged = bytearray(content)
        for position in generator.choices(range(len(content)), k=400):
            damaged[position] = generator.randrange(256)
        damaged[:64] = content[:64]  # Otherwise it would not even be a program.
        (program.parent / f"damaged{number}").write_bytes(damaged)
        read(program.parent / f"damaged{number}")
    assert read(program).keys() == {"entry", "table"}


def test_of_very_many_types_the_first_are_read(tmp_path: Path) -> None:
    """A program that somebody generated must not keep the reader busy."""
    types = "".join(f"struct t{n} {{ long a[{n % 9 + 1}]; }} v{n};\n" for n in range(MAX_TYPES + 500))
    types_read = read(build(tmp_path / "tree", f"{types}int main(void) {{ return 0; }}\n", "cc", "-g"))
    assert len(types_read) == MAX_TYPES
    assert types_read["t1"].bytes == 16

"""To which frame of a stack faults are attributed."""

from runner.contract.own_frame import find_own_frame, find_own_line
from runner.contract.profile import Frame

LIBC = "/usr/lib/libc.so.6"


def test_a_template_of_the_standard_library_in_the_program_is_not_the_projects_code() -> None:
    def frame(function: str, file: str, module: str = "/builds/a/program") -> Frame:
        return Frame(function=function, module=module, file=file, line=7 if file else 0)

    header = "/usr/include/c++/12/bits/stl_vector.h"
    own = frame("Index::Add", "src/index.cc")
    template = frame("std::vector<int>::_M_realloc_insert", header)
    stack = [frame("main", "src/main.cc"), own, template, frame("memcpy", "", LIBC), frame("fault", "", "[kernel]")]
    assert find_own_frame(stack) == own
    assert find_own_line(stack) == "Index::Add at src/index.cc:7"
    driver = frame("main", "/home/ada/bench/driver.cc")
    assert find_own_frame([driver, template]) == driver
    assert find_own_line(stack[2:]) == "", "that would not be a line of the project"
    assert find_own_frame(stack[2:]) == template
    assert find_own_frame(stack[3:]) == stack[3]
    assert find_own_frame(stack[4:]) is None


def test_a_folder_whose_name_only_begins_like_one_of_the_system_is_the_projects() -> None:
    own = Frame(function="main", module="/library/engine/server", file="/library/engine/main.c", line=3)
    libraries = [Frame(function="memcpy", module=f"/{folder}/libc.so.6") for folder in ("lib", "lib64", "lib32", "usr")]
    assert find_own_frame([own, *libraries]) == own
    assert find_own_line([own, *libraries]) == "main at main.c:3"


def test_a_line_of_the_c_library_is_no_line_of_a_program_without_lines() -> None:
    unmapping = Frame(function="__munmap", module="/usr/lib/libc.so.6", file="./misc/../sysdeps/template.S", line=117)
    assert find_own_line([Frame(function="_PyEval_EvalFrameDefault", module="/usr/bin/python3.11"), unmapping]) == ""


def test_a_function_of_the_standard_library_is_no_own_code_whatever_file_its_debug_information_names() -> None:
    caller = Frame(function="Cache::get(int)", module="prog", file="cache.cpp", line=12)
    release = Frame(function="std::_Sp_counted_base<2>::_M_release()", module="prog", file="main.cpp", line=175)
    vector = Frame(function="std::vector<int> parse<int>(int)", module="prog", file="parse.cpp", line=7)
    assert find_own_frame([caller, release]) == caller
    assert find_own_frame([caller, vector]) == vector

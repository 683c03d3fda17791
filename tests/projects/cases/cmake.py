"""CMake with its own shared library: the program finds it by the absolute path of the folder it was built in.

The library and its function have the names of those that every system has, which would be used without a word.
"""

from tests.projects.project import FEW, MOVED, Project, grow_by, touch, workload

TOOLS = ("cmake",)
THOROUGH = (("root", False),)
WRAPPER = "unsigned long zlibCompileFlags(void) { return touch(); }\n"
FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.13)
project(program C)
add_library(z SHARED touch.c)
set_target_properties(z PROPERTIES SOVERSION 1)
add_executable(program main.c)
target_link_libraries(program z)
""",
    "main.c": "unsigned long zlibCompileFlags(void);\nint main(void) { zlibCompileFlags(); return 0; }\n",
    "workload.toml": workload("sh -c 'cmake -B build . && cmake --build build'", "build/program"),
}


def grow(project: Project) -> None:
    """Change the library alone."""
    few, many = (touch(pages) + WRAPPER for pages in (FEW, FEW + MOVED))
    grow_by(project, FILES, "touch.c", few, many)

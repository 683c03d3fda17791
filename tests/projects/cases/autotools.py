"""Autotools with libtool: the program is a script with absolute paths; it links the real one when it is first used."""

import subprocess

from tests.projects.project import CALL, FEW, MOVED, Project, grow_by, touch, workload

SPREAD = 20
"""The script starts many small programs at once."""
TOOLS = ("autoreconf", "automake", "libtoolize", "make")
FILES = {
    "configure.ac": """AC_INIT([program], [1.0])
AC_CONFIG_AUX_DIR([.])
AM_INIT_AUTOMAKE([foreign subdir-objects])
AC_PROG_CC
AM_PROG_AR
LT_INIT
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
""",
    "Makefile.am": """lib_LTLIBRARIES = libtouch.la
libtouch_la_SOURCES = touch.c
bin_PROGRAMS = program
program_SOURCES = main.c
program_LDADD = libtouch.la
""",
    "main.c": CALL,
    "workload.toml": workload("sh -c './configure && make'", "./program"),
}


def grow(project: Project) -> None:
    """Change the library alone. As in many projects, the generated files are committed."""
    project.write({**FILES, "touch.c": ""})
    subprocess.run(["autoreconf", "-fi"], cwd=project.folder, check=True, capture_output=True)
    grow_by(project, FILES, "touch.c", touch(FEW), touch(FEW + MOVED), neutral=10)

"""Meson with a shared library in its own folder."""

from tests.projects.project import CALL, FEW, MOVED, Project, grow_by, touch, workload

TOOLS = ("meson", "ninja")
FILES = {
    "meson.build": """project('program', 'c', version: '1.0')
subdir('lib')
executable('program', 'main.c', link_with: lib)
""",
    "lib/meson.build": "lib = shared_library('touch', 'touch.c', version: '1.0')\n",
    "main.c": CALL,
    "workload.toml": workload("sh -c 'meson setup build && ninja -C build'", "build/program"),
}


def grow(project: Project) -> None:
    """Change the library alone."""
    grow_by(project, FILES, "lib/touch.c", touch(FEW), touch(FEW + MOVED))

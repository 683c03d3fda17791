"""A project whose library is a submodule, with its own submodule: no commit of the project holds their files."""

from tests.projects.project import CALL, FEW, MOVED, Project, touch, workload

TOOLS = ("make", "cc")
THOROUGH = (("ordinary", True),)
FILES = {
    "Makefile": "program: main.c deps/touch/touch.c deps/touch/deep/touch.h\n\tcc -o $@ main.c deps/touch/touch.c\n",
    "main.c": '#include "deps/touch/deep/touch.h"\n' + CALL,
    "workload.toml": workload("make program", "./program"),
}


def grow(project: Project) -> None:
    """Move the submodule to another commit."""
    deep = Project(project.folder.with_name("deep"))
    deep.commit("Declare", {"touch.h": "int touch(void);\n"})
    library = Project(project.folder.with_name("library"))
    library.git("submodule", "--quiet", "add", str(deep.folder), "deep")
    few = library.commit("Touch", {"touch.c": touch(FEW)})
    many = library.commit("Touch more", {"touch.c": touch(FEW + MOVED)})
    project.git("submodule", "--quiet", "add", str(library.folder), "deps/touch")
    project.git("submodule", "--quiet", "update", "--init", "--recursive")
    project.git("-C", "deps/touch", "checkout", "--quiet", few)
    project.commit("Start", FILES)
    project.commit("Explain", {"README": "What it is.\n"})
    project.git("-C", "deps/touch", "checkout", "--quiet", many)
    project.mover = project.commit("Touch more")
    project.commit("Explain more", {"README": "What it is for.\n"})

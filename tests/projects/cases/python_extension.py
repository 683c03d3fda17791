"""A Python package with an extension in C, run by a script that has the absolute path of its virtual environment."""

from tests.projects.project import FEW, MOVED, Project, grow_by, touch, workload

TOOLS = ("python3", "cc", "python3-config")
EXTENSION = """#define PY_SSIZE_T_CLEAN
#include <Python.h>
int touch(void);
static PyObject *run(PyObject *self, PyObject *none) { return PyLong_FromLong(touch()); }
static PyMethodDef methods[] = {{"run", run, METH_NOARGS, ""}, {NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "touching", "", -1, methods};
PyMODINIT_FUNC PyInit_touching(void) { return PyModule_Create(&module); }
"""
FILES = {
    "setup.py": """from setuptools import Extension, setup
setup(name="package", version="1.0", packages=["package"], scripts=["bin/run"],
      ext_modules=[Extension("package.touching", ["package/module.c", "package/touch.c"])])
""",
    "package/__init__.py": "from package.touching import run\n",
    "package/__main__.py": "from package import run\nraise SystemExit(run())\n",
    # The first line becomes that of the interpreter which builds the package.
    "bin/run": "#!python\nimport sys\nsys.path[0] = '.'\nfrom package import run\nraise SystemExit(run())\n",
    "package/module.c": EXTENSION,
    "workload.toml": workload(
        "sh -c 'python3 -m venv --system-site-packages --without-pip venv && "
        "venv/bin/python setup.py --quiet build_ext --inplace build_scripts --build-dir scripts'",
        "scripts/run",
    ),
}


def grow(project: Project) -> None:
    """Change the extension alone."""
    grow_by(project, FILES, "package/touch.c", touch(FEW), touch(FEW + MOVED))

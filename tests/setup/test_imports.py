"""Every module imports alone: none works only because another was imported before it."""

import subprocess
import sys
from pathlib import Path

# The libraries are loaded once, then layer by layer what later layers build upon. Each module of a layer is imported in
# a fork of its own, so that it finds nothing that another module of its layer imported.
_IMPORT_EACH_ALONE = """
import importlib, os, sys, traceback
import click, pydantic, pyperf, requests, rich
import alembic, apiflask, flask, github, gunicorn.app.base, huey, jwt, numpy, prometheus_client, sqlalchemy.orm

def fails(name):
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0

failed = []
for layer in sys.argv[1:]:
    failed += [name for name in layer.split() if fails(name)]
    for name in layer.split():
        if name not in failed:
            importlib.import_module(name)
sys.exit(f"cannot be imported alone: {', '.join(failed)}" if failed else 0)
"""
ROOT = Path(__file__).parents[2]
LAYERS = (
    "runner.contract",
    "service.schemas",
    "service.rules",
    "service.store",
    "service.pipeline",
    "runner",
    "service",
)
"""What builds upon what, as far as it saves time; a module is of the first layer whose name it begins with."""


def test_every_module_imports_alone() -> None:
    names = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in ("runner", "service")
        for file in sorted((ROOT / room).rglob("*.py"))
        if "migrations" not in file.parts  # Alembic imports them
    ]
    assert len(names) > 300
    layers: dict[str, list[str]] = {layer: [] for layer in LAYERS}
    for name in names:
        layers[next(layer for layer in LAYERS if f"{name}.".startswith(f"{layer}."))].append(name)
    command = [sys.executable, "-c", _IMPORT_EACH_ALONE, *(" ".join(layer) for layer in layers.values())]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr

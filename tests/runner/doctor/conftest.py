"""The doctor is shown the same made-up machines as the capture of the environment."""

import runpy
from pathlib import Path

machine = runpy.run_path(str(Path(__file__).parents[1] / "environment" / "conftest.py"))["machine"]

"""The JSON Schemas of ``workload.toml`` and ``matrix.toml``, by which editors validate these files."""

from importlib import resources

SCHEMA_NAMES = ("workload", "matrix")


def read_schema(name: str) -> str:
    """Return a shipped schema: ``workload`` or ``matrix``."""
    return resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")

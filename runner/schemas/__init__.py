"""The JSON Schemas of ``workload.toml`` and ``matrix.toml``, from which editors complete and check."""

from importlib import resources

SCHEMA_NAMES = ("workload", "matrix")


def read_schema(name: str) -> str:
    """Return a shipped schema: ``workload`` or ``matrix``."""
    return resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")

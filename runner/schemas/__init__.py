"""The JSON Schemas of ``workload.toml`` and ``matrix.toml``, from which editors complete and check."""

from importlib import resources

NAMES = ("workload", "matrix")


def schema_text(name: str) -> str:
    """Return a shipped schema: ``workload`` or ``matrix``."""
    return resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")

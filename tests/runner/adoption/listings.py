"""Listings of files for detection."""

from collections.abc import Collection, Mapping

from runner.adoption.sources import Sources


def listing(files: Mapping[str, str | bytes], name: str = "project", changed: Collection[str] = ()) -> Sources:
    """Return a listing of files, without the workload file that a project may have; some changed lately."""
    texts = {path: text if isinstance(text, str) else text.decode() for path, text in files.items()}
    texts.pop("workload.toml", None)
    return Sources(name, tuple(sorted(texts)), texts.__getitem__, frozenset(changed))

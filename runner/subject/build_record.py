"""Stores the record of a build in ``build.json``, which is written last: a folder without it is not a build."""

from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from runner.contract.base import Strict
from runner.contract.report import Build
from runner.errors import FaultwatchError
from runner.system.durable_files import rename_durably

RECORD_FILE = "build.json"


class DamagedBuild(FaultwatchError):
    """A stored build cannot be used, for example after a power cut; the message says why."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "try again, which rebuilds the revision")


class BuildRecord(Strict):
    """The record of one build."""

    build: Build
    began: int = 0
    """When the making of the tree began, in nanoseconds since the epoch."""
    failure: str = ""
    """Why the revision does not build; empty if it builds."""
    tree: str = ""
    """Fingerprint of the tree after it was last built or restored."""
    copy_of_tree: str = ""
    """Fingerprint of the copy of the tree."""
    later_commit: str = ""
    """The later commit whose files replace those of the build; empty if the tree is unchanged since the build."""
    later_files: str = ""
    """Fingerprint of those files."""
    ignored: str | None = None
    """Path of the result file in the tree, which each execution creates again."""
    bytes: int = 0
    """The disk space of the tree and its copy."""

    def is_usable(self, retry_failed: bool) -> bool:
        """Return whether the build can be used: a failed one only if failed builds are not to be built again."""
        return not (self.failure and retry_failed)


def read_record(build_folder: Path) -> BuildRecord | None:
    """Return the record of a place; None if it has none, because nothing was built there or a build was interrupted.

    Raises
    ------
    DamagedBuild
        If the record is empty, damaged, or of another version.
    """
    try:
        return BuildRecord.model_validate_json((build_folder / RECORD_FILE).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DamagedBuild(f"its {RECORD_FILE} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise DamagedBuild(f"its {RECORD_FILE} is empty or damaged") from None


def write_record(build_folder: Path, record: BuildRecord) -> None:
    """Write the record, so that a power cut leaves the old one, the new one, or none."""
    partial_file = build_folder / f"{RECORD_FILE}.partial"
    partial_file.write_text(record.model_dump_json(), encoding="utf-8")
    rename_durably(partial_file, build_folder / RECORD_FILE)


def remove_record(build_folder: Path) -> None:
    """Remove the record before the rest of a build, so that a partial build is never used."""
    with suppress(FileNotFoundError, NotADirectoryError):
        (build_folder / RECORD_FILE).unlink()

"""Stores the record of a build in ``build.json``. It is written last: a folder without it is not a complete build."""

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
        super().__init__(what, "run the command again: it rebuilds the revision")


class BuildRecord(Strict):
    """The record of one build."""

    build: Build
    began: int = 0
    """The time at which the making of the tree began, in nanoseconds since the epoch."""
    failure: str = ""
    """Why the build failed; empty if it succeeded."""
    tree: str = ""
    """Fingerprint of the tree after it was last built or restored."""
    copy_of_tree: str = ""
    """Fingerprint of the copy of the tree."""
    later_commit: str = ""
    """The later commit whose files replace those of the build; empty if the tree is unchanged since the build."""
    later_files: str = ""
    """Fingerprint of the folder with the files of the later commit."""
    ignored: str | None = None
    """Path of the result file in the tree, which each execution creates again."""
    bytes: int = 0
    """The disk space of the tree and its copy, in bytes."""

    def is_usable(self, retry_failed: bool) -> bool:
        """Return whether the build can be used; a failed build can, unless ``retry_failed``."""
        return not (self.failure and retry_failed)


def read_record(build_folder: Path) -> BuildRecord | None:
    """Return the record of a build folder; None if nothing was built there, or if the build was interrupted.

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
    """Write the record atomically: after a power cut, there is the old record, the new one, or none."""
    partial_file = build_folder / f"{RECORD_FILE}.partial"
    partial_file.write_text(record.model_dump_json(), encoding="utf-8")
    rename_durably(partial_file, build_folder / RECORD_FILE)


def remove_record(build_folder: Path) -> None:
    """Remove the record of a build. This must precede changes of the build, so that a partial build is never used."""
    with suppress(FileNotFoundError, NotADirectoryError):
        (build_folder / RECORD_FILE).unlink()

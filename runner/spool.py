"""Reports on disk from the moment they are measured until the service has them."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from runner.contract.report import Report
from runner.errors import FaultwatchError


@dataclass(frozen=True, slots=True)
class Spool:
    """A folder with one file a report."""

    folder: Path

    def add(self, report: Report) -> Path:
        """Write a report so that it survives a crash of this process or of the machine; return its file."""
        file = self.folder / f"{report.run_id}.json"
        partial = file.with_suffix(".partial")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with partial.open("w", encoding="utf-8") as stream:
                stream.write(report.model_dump_json())
                stream.flush()
                os.fsync(stream.fileno())
            partial.rename(file)
            _sync_folder(self.folder)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise FaultwatchError(
                f"the result cannot be kept in {self.folder}: {error.strerror}",
                "free space there, or set FAULTWATCH_HOME",
            ) from None
        return file

    def flush(self, send: Callable[[Report], None]) -> int:
        """Send every report that waits here, oldest first, and forget each that was acknowledged; return how many."""
        sent = 0
        for file, report in self._waiting():
            send(report)
            file.unlink(missing_ok=True)
            sent += 1
        return sent

    def _waiting(self) -> Iterator[tuple[Path, Report]]:
        if not self.folder.is_dir():
            return
        for file in sorted(self.folder.glob("*.json"), key=lambda file: (file.stat().st_mtime_ns, file.name)):
            try:
                yield file, Report.model_validate_json(file.read_bytes())
            except ValidationError:
                # Written by another version, or damaged: kept for a person to look at, out of the way of the rest.
                file.rename(file.with_suffix(".refused"))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Prepares the page-cache state of one file, and verifies it.

In the prepared state every page of the file is resident, as a folio of one page, and none is marked for readahead. A
file gets into this state when it is evicted from the page cache and read back without readahead. A file that is in
this state already is not read again.
"""

import os
from pathlib import Path

from msgspec import Struct, field

from runner.contract.mapped_files import CacheState
from runner.mapped_files.folios import has_prepared_folios
from runner.mapped_files.locked_files import ResidencyLock
from runner.mapped_files.residency import evict_pages, measure_residency, read_back
from runner.system.regular_file import identify_file, open_regular

MAX_BYTES = 1 << 30
"""The size of the largest file that is evicted and read back. Larger files stay unprepared."""


class Preparation(Struct, frozen=True):
    """The result of preparing a file.

    Attributes
    ----------
    reason
        Why the file is unprepared; empty if it is prepared.
    changed
        Whether the pages are in another state than before, so that earlier executions do not count. False for a file
        that was prepared already, and for one whose pages can never be evicted.
    lock
        Keeps the file's pages resident as long as this object is referenced.
    """

    cache: CacheState
    reason: str = ""
    changed: bool = False
    lock: "ResidencyLock | None" = None


class CachePreparer(Struct):
    """Prepares the pages of files, and remembers which it has prepared: only root can verify a file's folios."""

    _prepared_identities: set[tuple[int, ...]] = field(default_factory=set)

    def prepare(self, path: Path) -> Preparation:
        """Bring a file's pages into the prepared state, unless they are in it already; return the result."""
        try:
            with open_regular(path) as file:
                status = os.fstat(file.fileno())
                if status.st_size > MAX_BYTES:
                    return Preparation(CacheState.UNPREPARED, f"it is larger than {MAX_BYTES >> 20} MiB")
                return self._prepare_file(file.fileno(), identify_file(status))
        except OSError as error:
            return Preparation(CacheState.UNPREPARED, f"it cannot be read: {error.strerror}")

    def is_prepared(self, path: Path) -> bool:
        """Return whether a file is in the prepared state now."""
        try:
            with open_regular(path) as file:
                return self._is_prepared(file.fileno(), identify_file(os.fstat(file.fileno())))
        except OSError:
            return False

    def _prepare_file(self, descriptor: int, identity: tuple[int, ...]) -> Preparation:
        """Evict a file, read it back page by page, and verify its folios; return the result."""
        if self._is_prepared(descriptor, identity):
            return Preparation(CacheState.PREPARED, lock=ResidencyLock(descriptor))
        still_resident, pages = evict_pages(descriptor)
        resident_pages, _ = read_back(descriptor)
        lock = ResidencyLock(descriptor)
        has_expected_folios = has_prepared_folios(descriptor)
        if resident_pages < pages:
            return Preparation(CacheState.UNPREPARED, "not all of its pages stay in memory", changed=True)
        # Pages that another process maps cannot be evicted. If the kernel does not show the folios, a file with
        # such pages cannot be verified.
        if has_expected_folios or (has_expected_folios is None and not still_resident):
            self._prepared_identities.add(identity)
            return Preparation(CacheState.PREPARED, changed=True, lock=lock)
        reason = "another process maps it, or its file system does not let it be evicted"
        return Preparation(CacheState.UNPREPARED, reason, lock=lock)

    def _is_prepared(self, descriptor: int, identity: tuple[int, ...]) -> bool:
        """Return whether a file is in the prepared state already: each folio (a block of cached pages) is one page."""
        has_expected_folios = has_prepared_folios(descriptor)
        if has_expected_folios:
            self._prepared_identities.add(identity)
        # If the kernel does not show the folios, a file that was prepared counts as such while all pages are resident.
        if has_expected_folios is not None or identity not in self._prepared_identities:
            return bool(has_expected_folios)
        resident_pages, pages = measure_residency(descriptor)
        return resident_pages == pages

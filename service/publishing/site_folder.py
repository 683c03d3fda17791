"""The folder of a site, which is replaced as a whole, and only if it contains a site."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from service.errors import ServiceError
from service.store.maintenance.complete_files import explain_write_errors

_MARKER = "faultwatch-site.txt"
_MARKER_TEXT = "Faultwatch's publish command wrote this folder, and replaces everything in it each time it runs.\n"


@contextmanager
def replace_site(site: Path) -> Iterator[Path]:
    """Yield an empty folder for a new site; let it take the place of ``site`` once it is complete.

    Raises
    ------
    ServiceError
        If the folder contains other files, which would be lost, or cannot be written.
    """
    with explain_write_errors(site):
        site = site.resolve()  # Of a link, replace the folder to which it leads, and not the link.
        _refuse_other_files(site)
        new_folder = site.with_name(f".{site.name}.{os.getpid()}.part")
        old_folder = site.with_name(f".{site.name}.{os.getpid()}.old")
        shutil.rmtree(new_folder, ignore_errors=True)  # left by a process of the same number that was killed
        new_folder.mkdir()
        try:
            # Without this file, GitHub Pages leaves out files whose names begin with an underscore.
            (new_folder / ".nojekyll").touch()
            (new_folder / _MARKER).write_text(_MARKER_TEXT, encoding="utf-8")
            yield new_folder
            if site.exists():
                site.rename(old_folder)
            new_folder.rename(site)
        finally:
            if old_folder.exists() and not site.exists():  # The command was stopped between the two renames.
                old_folder.rename(site)
            shutil.rmtree(new_folder, ignore_errors=True)
            shutil.rmtree(old_folder, ignore_errors=True)


def _refuse_other_files(site: Path) -> None:
    """Raise an error if a folder exists, is not empty, and does not contain an earlier site."""
    if not site.exists():
        return
    if site.is_dir() and ((site / _MARKER).is_file() or not any(site.iterdir())):
        return
    raise ServiceError("The folder does not contain an earlier site", str(site), "Choose a new or an empty folder.")

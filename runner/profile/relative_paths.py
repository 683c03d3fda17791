"""Replaces the absolute paths of a profile, so that profiles of different builds can be compared."""

import os
import re
from collections.abc import Callable

from runner.contract.profile import Anatomy, Frame, Site

_DETOUR = re.compile(r"/\.{1,2}/")
MakeRelative = Callable[[str], str]
"""Returns the relative path of a file; other files keep their paths."""


def make_path_relative(path: str, root: str) -> str:
    """Return a path relative to ``root`` if it is inside, because the location of the tree differs between builds.

    Detours such as ``extra/../alloc.c``, which debug information contains, are removed, because paths in git have none.
    ``root`` ends with a slash.
    """
    direct_path = os.path.normpath(path) if _DETOUR.search(path) else path
    return direct_path.removeprefix(root)


def make_frame_relative(frame: Frame, make_relative: MakeRelative) -> Frame:
    """Return a frame with relative paths of its module and its source file."""
    return frame.model_copy(update={"module": make_relative(frame.module), "file": make_relative(frame.file)})


def make_anatomy_relative(anatomy: Anatomy, make_relative: MakeRelative) -> Anatomy:
    """Return an anatomy with relative paths."""
    return anatomy.model_copy(
        update={
            "sites": tuple(_make_site_relative(site, make_relative) for site in anatomy.sites),
            "major_sites": tuple(_make_site_relative(site, make_relative) for site in anatomy.major_sites),
            "areas": tuple(area.model_copy(update={"name": make_relative(area.name)}) for area in anatomy.areas),
            "kinds": tuple(kind.model_copy(update={"file": make_relative(kind.file)}) for kind in anatomy.kinds),
        }
    )


def _make_site_relative(site: Site, make_relative: MakeRelative) -> Site:
    """Return a site with relative paths of its frame and its file."""
    return site.model_copy(
        update={"frame": make_frame_relative(site.frame, make_relative), "file": make_relative(site.file)}
    )

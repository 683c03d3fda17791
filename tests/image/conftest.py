"""The image, built once."""

import os
import shutil

import pytest

from tests.image.base import base
from tests.image.podman import podman
from tests.wheel.installation import ROOT, build_wheel


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image of this checkout, or the one that FAULTWATCH_IMAGE names."""
    if named := os.environ.get("FAULTWATCH_IMAGE"):
        return named
    context = tmp_path_factory.mktemp("context")
    for name in ("Containerfile", ".containerignore", "requirements.txt"):
        shutil.copy(ROOT / name, context)
    build_wheel(ROOT, context / "dist")
    name = "localhost/faultwatch-test:latest"
    podman(
        *("build", "--format", "docker", "--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={base()}"),
        *("--tag", name, str(context)),
    )
    return name

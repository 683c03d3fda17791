"""The base of the image under test: Debian, made here with mmdebstrap, so that no registry of images is needed."""

import tempfile
from pathlib import Path

from tests.bootstrap import bootstrap, recipe
from tests.image.podman import podman

_FILES = {"/etc/pip.conf": "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n"}


def base(suite: str = "bookworm") -> str:
    """Return the name of the image, made first where it is not there yet (a network, a minute)."""
    name = f"localhost/faultwatch-base:{suite}-{recipe(suite, _FILES)}"
    if podman("image", "exists", name, check=False).returncode == 0:
        return name
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        root = Path(made) / "root.tar"
        bootstrap(suite, root, packages=["ca-certificates"], files=_FILES, options=["--dpkgopt=force-unsafe-io"])
        podman("import", "--quiet", str(root), name)
    return name

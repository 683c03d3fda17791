"""The base of the image under test: Debian, made here with mmdebstrap, so that no registry of images is needed."""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from tests.image.podman import podman

_AUTHORITIES = Path("/usr/local/share/ca-certificates")
_PIP = "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n"


def base(suite: str = "bookworm") -> str:
    """Return the name of the image, made first where it is not there yet (a network, a minute).

    It trusts the certificate authorities of this machine, which may reach the world only through something that has its
    own.
    """
    authorities = sorted(_AUTHORITIES.glob("*.crt"))
    recipe = hashlib.sha256(suite.encode() + _PIP.encode() + b"".join(file.read_bytes() for file in authorities))
    name = f"localhost/faultwatch-base:{suite}-{recipe.hexdigest()[:12]}"
    if podman("image", "exists", name, check=False).returncode == 0:
        return name
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        pip, root = Path(made) / "pip.conf", Path(made) / "root.tar"
        pip.write_text(_PIP, encoding="utf-8")
        uploads = [(file, f"/usr/local/share/ca-certificates/{file.name}") for file in authorities]
        uploads.append((pip, "/etc/pip.conf"))
        hooks = [f"--customize-hook=upload '{source}' '{target}'" for source, target in uploads]
        hooks.append('--customize-hook=chroot "$1" update-ca-certificates >/dev/null')
        command = [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--dpkgopt=force-unsafe-io",
            "--include=ca-certificates",
            *hooks,
            suite,
            str(root),
        ]
        subprocess.run(command, check=True)
        podman("import", "--quiet", str(root), name)
    return name

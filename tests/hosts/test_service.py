"""A service on PostgreSQL, with its own certificate."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.hosts.api import Api
from tests.hosts.container import containers
from tests.hosts.image import UNPACKED
from tests.hosts.playbook import head, inventory, play

pytestmark = pytest.mark.hosts

NAME = "faults.example.org"


def certificate(folder: Path) -> tuple[str, str]:
    """Sign a certificate for the service's name with its own key; return both, PEM."""
    files = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"),
            *("-addext", f"subjectAltName=DNS:{NAME}", "-out", files[0], "-keyout", files[1]),
        ],
        check=True,
        capture_output=True,
    )
    return files[0].read_text(), files[1].read_text()


def test_postgresql_and_a_certificate_of_ones_own() -> None:
    with containers("faults", packages=UNPACKED) as guests, tempfile.TemporaryDirectory() as scratch:
        host, folder = guests["faults"], Path(scratch)
        chain, private = certificate(folder)
        hosts = inventory(
            folder,
            {"service": [host]},
            {
                "service_name": NAME,
                "service_tls": "files",
                "service_tls_certificate": chain,
                "service_tls_key": private,
                "service_database": "postgresql",
                "release_revision": head(),
            },
        )
        made = play("service.yml", hosts)
        assert made.returncode == 0
        assert private.splitlines()[1] not in made.output, "a secret was shown"
        again = play("service.yml", hosts)
        assert (again.returncode, again.changed) == (0, [])

        shown = host.run(
            f"openssl s_client -connect 127.0.0.1:443 -servername {NAME} </dev/null 2>/dev/null | openssl x509"
        ).stdout
        assert shown.strip() in chain
        host.run("cat > /etc/faultwatch/authority.crt", stdin=chain)
        assert Api.of(host, NAME).get("runs")["items"] == []
        kept = host.run(
            "runuser -u postgres -- psql -At -d faultwatch -c 'select count(*) from alembic_version'"
        ).stdout
        assert kept.strip() == "1"
        host.run("systemctl start faultwatch-care.service")
        assert host.run("ls /var/backups/faultwatch").stdout.strip(), "there is a backup"

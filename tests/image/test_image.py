"""The image, built and run: as an ordinary user, on a read-only root, on SQLite and on PostgreSQL."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
import yaml

from tests.image.podman import RUNTIME, Container, podman, serving
from tests.service.postgres import running
from tests.wheel.installation import ROOT

pytestmark = pytest.mark.skipif(not os.environ.get("FAULTWATCH_TEST_IMAGE"), reason="make test-image runs it")


@pytest.fixture(scope="module")
def volume() -> Iterator[str]:
    """The name of a volume for the service's data."""
    name = f"faultwatch-test-{uuid4().hex}"
    yield name
    podman("volume", "rm", "--force", name)


@pytest.fixture(scope="module")
def served(image: str, volume: str) -> Iterator[Container]:
    """A container on SQLite."""
    with serving(image, "--volume", f"{volume}:/data") as container:
        yield container


def new_token(container: Container) -> str:
    return container.run("faultwatch-service", "token", "new", "you", "--scope", "admin").stdout.split()[-1]


def test_it_runs_as_an_ordinary_user_who_can_write_to_its_data_alone(served: Container) -> None:
    assert served.run("id", "-u").stdout.strip() == "10001"
    for folder in ("/", "/opt/faultwatch", "/etc"):
        for user in ("10001", "0"):
            touch = podman("exec", "--user", user, served.name, "touch", f"{folder}/x", check=False)
            assert touch.returncode != 0, (folder, user)
    for folder in ("/data", "/tmp"):
        assert served.run("touch", f"{folder}/x", check=False).returncode == 0


def test_others_need_a_token_and_get_pages_and_files_with_it(served: Container) -> None:
    assert served.ask("/api/v1/drifts")[0] == 401
    status, page = served.ask("/", new_token(served))
    assert status == 200
    files = set(re.findall(r'(?:href|src)="(/(?:static|vendor)/[^"]+)"', page))
    assert any(file.startswith("/vendor/") for file in files)
    for file in files:
        assert served.ask(file.replace("&amp;", "&"))[0] == 200, file


def test_data_survives_a_new_container(image: str, volume: str, served: Container) -> None:
    token = new_token(served)
    with serving(image, "--volume", f"{volume}:/data") as other:
        assert other.ask("/api/v1/drifts", token)[0] == 200


def test_a_stop_is_orderly(image: str) -> None:
    with serving(image) as container:
        podman("stop", "--time", "20", container.name)
        assert container.state()["ExitCode"] == 0


def test_an_unhealthy_service_is_called_unhealthy(image: str) -> None:
    with serving(image) as container:
        container.run(
            "sh", "-c", "kill -STOP 1; for child in $(cat /proc/1/task/1/children); do kill -STOP $child; done"
        )
        assert not container.is_healthy()


def test_it_serves_from_postgresql(image: str) -> None:
    with running() as server:
        url = server.url(server.create())
        (folder,) = parse_qs(urlsplit(url).query)["host"]
        Path(folder).chmod(0o755)
        with serving(image, "--env", f"DATABASE_URL={url}", "--volume", f"{folder}:{folder}") as container:
            assert container.ask("/api/v1/drifts", new_token(container))[0] == 200
            assert not container.run("ls", "/data").stdout.count("faultwatch.db")


@pytest.mark.skipif(os.geteuid() != 0, reason="podman of an ordinary user runs all of these tests without root")
def test_podman_of_an_ordinary_user_runs_it_too(image: str) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        archive = Path(name) / "image.tar"
        podman("save", "--quiet", "--output", str(archive), image)
        for place in (Path(name), archive):
            shutil.chown(place, "daemon", "daemon")
        script = Path(__file__).with_name("rootless.sh")
        command = ["unshare", "--mount", str(script), str(archive), image, name, *RUNTIME]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, own, others = done.stdout.splitlines()
    assert first == "rootless true"
    assert own.split() == ["0", "1", "1"]  # the container's root is the ordinary user
    assert others.split() == ["1", "300000", "65536"]


def test_it_has_no_compiler_and_no_installer(served: Container) -> None:
    for name in ("gcc", "make", "pip", "pip3"):
        assert served.run("sh", "-c", f"command -v {name}", check=False).returncode != 0, name


def test_compose_runs_the_image_as_strictly_as_these_tests_do() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    service = services["service"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["depends_on"]["database"]["condition"] == "service_healthy"
    assert "healthcheck" in services["database"]

"""`faultwatch init --yes` recognises servers, and proposes to measure them under load."""

import shutil
from pathlib import Path

import pytest

from runner.workload import load_workload
from runner.workload.definition import Workload
from tests.projects.project import Project
from tests.projects.test_init import SYSTEM_PATH, folder, init

__all__ = ["folder"]

pytestmark = [pytest.mark.perf, pytest.mark.timeout(900)]

SERVER = (Path(__file__).parents[1] / "runner/servers/server.c").read_text()
WEB_SERVER = """#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char **words)
{
    const char *page = "HTTP/1.0 200 OK\\r\\nContent-Length: 3\\r\\n\\r\\nhi\\n", *given = getenv("PORT");
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons(atoi(count > 1 ? words[1] : given ? given : "23971"))};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (void *)&place, sizeof place) || listen(listener, 64))
        return 2;
    for (;;) {
        char text[4096];
        int connection = accept(listener, 0, 0);
        if (read(connection, text, sizeof text) > 0 && write(connection, page, strlen(page)) < 0)
            return 3;
        close(connection);
    }
}
"""
MAKEFILE = "srv: main.c\n\tcc -o $@ main.c\n"
needs_ab = pytest.mark.skipif(not shutil.which("ab", path=SYSTEM_PATH), reason="needs ab")


def adopt(folder: Path, source: str, files: dict[str, str], *words: str) -> Workload:
    project = Project(folder / "project")
    project.commit("Start", {"Makefile": MAKEFILE, "main.c": source, "LICENSE": "Any.\n", **files})
    done = init(folder, "--yes", "--ci", "none", *words)
    assert done.returncode == 0, done.stderr
    assert "By window, 3 starts" in done.stdout
    return load_workload(project.folder)


@needs_ab
@pytest.mark.thorough
@pytest.mark.parametrize("words", [(), ("--sandbox",)])
def test_a_server_that_a_unit_starts_is_loaded(folder: Path, words: tuple[str, ...]) -> None:
    unit = "[Service]\nExecStart=/usr/local/bin/srv 23972\n"
    workload = adopt(folder, WEB_SERVER, {"etc/srv.service": unit}, *words)
    assert workload.server
    assert workload.load
    assert workload.server.command == ("./srv", "{port}")
    assert workload.load.output == "ab"


@needs_ab
@pytest.mark.thorough
def test_a_program_that_listens_instead_of_ending_is_a_server(folder: Path) -> None:
    workload = adopt(folder, WEB_SERVER, {})
    assert workload.server
    assert workload.server.command == ("env", "PORT={port}", "./srv")


@pytest.mark.thorough
@needs_ab
def test_a_server_whose_usage_names_its_port_is_started_with_it(folder: Path) -> None:
    source = WEB_SERVER.replace("    int yes", '    if (count < 2) { puts("usage: srv PORT"); return 1; }\n    int yes')
    workload = adopt(folder, f"#include <stdio.h>\n{source}", {"README.md": "Serves.\n"})
    assert workload.server
    assert workload.server.command == ("./srv", "{port}")
    assert not workload.server.ready_command


@needs_ab
@pytest.mark.thorough
def test_a_server_that_knows_its_port_alone_keeps_it(folder: Path) -> None:
    workload = adopt(folder, WEB_SERVER.replace('count > 1 ? words[1] : given ? given : "23971"', '"23971"'), {})
    assert workload.server
    assert workload.server.command == ("./srv",)
    assert workload.server.ready_command == ("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/23971")


def test_a_server_that_no_load_generator_knows_is_told(folder: Path) -> None:
    project = Project(folder / "project")
    files = {"Makefile": MAKEFILE, "main.c": SERVER, "Dockerfile": 'EXPOSE 23973\nCMD ["/srv", "23973", "touch"]\n'}
    project.commit("Start", files)
    done = init(folder, "--yes")
    assert done.returncode == 2
    assert (
        "./srv 23973 touch listens on port 23973: it is a server, and init does not know a load generator for it"
        in done.stderr
    )
    assert '    [server]\n    command = "./srv {port} touch"\n' in done.stderr
    assert "docs/how-to/servers.md" in done.stderr


@pytest.mark.thorough
def test_beside_another_program_the_tables_of_a_server_are_comments(folder: Path) -> None:
    rules = "all: srv sizes\nsrv: main.c\n\tcc -o $@ main.c\nsizes: sizes.c\n\tcc -o $@ sizes.c\n"
    project = Project(folder / "project")
    files = {"Makefile": rules, "main.c": SERVER, "sizes.c": "int main(void) { return 0; }\n"}
    project.commit("Start", files | {"Dockerfile": "CMD srv 23974 touch\n"})
    done = init(folder, "--yes", "--ci", "none")
    assert done.returncode == 0, done.stderr
    assert load_workload(project.folder).run.command == ("./sizes",)
    assert '# [server]\n# command = "./srv {port} touch"\n' in (project.folder / "workload.toml").read_text()
    assert "./srv 23974 touch listens on port 23974: it is a server" in done.stdout


@pytest.mark.thorough
@pytest.mark.skipif(
    not all(shutil.which(name, path=SYSTEM_PATH) for name in ("memcached", "memcslap")),
    reason="needs memcached and memcslap",
)
def test_a_known_name_comes_before_other_programs(folder: Path) -> None:
    rules = "all: sizes memcached\nsizes: main.c\n\tcc -o $@ main.c\nmemcached:\n\tcp memcached.in $@\n\tchmod +x $@\n"
    files = {"Makefile": rules, "memcached.in": '#!/bin/sh\nexec /usr/bin/memcached "$@"\n'}
    workload = adopt(folder, "int main(void) { return 0; }\n", files)
    assert workload.server
    assert workload.load
    assert workload.server.command[:2] == ("./memcached", "-l")

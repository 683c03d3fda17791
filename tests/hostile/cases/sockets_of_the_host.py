"""The program connects to what listens on this host: an abstract socket, a named one, and a port of the loopback."""

import socket

from tests.hostile.arena import Arena, Outcome

SOURCE = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
int main(void) {
    struct sockaddr_un abstract = {AF_UNIX, "\0%(mark)s"}, named = {AF_UNIX, "%(named)s"};
    struct sockaddr_in port = {AF_INET, htons(%(port)d), {htonl(INADDR_LOOPBACK)}};
    int bad = 0;
    bad |= connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&abstract, sizeof(sa_family_t) + 1 + %(length)d) == 0;
    bad |= connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&named, sizeof named) == 0;
    bad |= connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&port, sizeof port) == 0;
    puts(bad ? "CONNECTED" : "ALONE");
    return 1;
}
"""
_listening: list[socket.socket] = []


def prepare(arena: Arena) -> None:
    named = arena.folder / "socket"
    for family, address in (
        (socket.AF_UNIX, f"\0{arena.mark}"),
        (socket.AF_UNIX, str(named)),
        (socket.AF_INET, ("127.0.0.1", 0)),
    ):
        _listening.append(socket.socket(family, socket.SOCK_STREAM))
        _listening[-1].bind(address)
        _listening[-1].listen()
    named.chmod(0o777)
    values = {"mark": arena.mark, "length": len(arena.mark), "named": named, "port": _listening[-1].getsockname()[1]}
    arena.write("probe.c", SOURCE % values)
    arena.workload(build="command = 'cc -o probe probe.c'", command="./probe")
    arena.git("rm", "--quiet", "probe")
    arena.commit()


def held(_: Arena, outcome: Outcome) -> None:
    while _listening:
        _listening.pop().close()
    assert "ALONE" in outcome.report, outcome.said

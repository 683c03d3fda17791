"""What the watching program makes of the kernel's records, here written by hand."""

import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from runner.perf import faults_by_file

SOURCE = Path(faults_by_file.__file__).with_suffix(".c")
HARNESS = """
#define main watch
#include "{source}"
#undef main
/* Read buffers of records, each after its number of bytes, and print the names of the hidden programs. */
int main(void)
{{
    static _Alignas(8) char text[1 << 16];
    uint32_t length;
    while (fread(&length, sizeof length, 1, stdin) == 1) {{
        uint64_t newest = 0;
        if (fread(text, 1, length, stdin) != length)
            return 1;
        for (uint32_t at = 0; at < length; at += ((struct perf_event_header *)(text + at))->size)
            add_record((struct perf_event_header *)(text + at), &newest);
    }}
    read_all(1);
    printf("%llu", (unsigned long long)lost);
    for (size_t i = 0; i < hidden_count; i++)
        printf(" %s", names[hidden[i].name].text);
    return 0;
}}
"""
MMAP2, LOST, COMM, EXIT = 10, 2, 3, 4
COMM_EXEC = 1 << 13
FORK = 7
WITHOUT_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}
"""The program frees nothing: it ends soon."""
Watch = Callable[[Sequence[bytes]], str]


def record(kind: int, time: int, body: bytes, misc: int = 0) -> bytes:
    """Return a record of linux/perf_event.h, with the identification of sample_id_all."""
    tail = struct.pack("IIQ", 7, 7, time)
    return struct.pack("IHH", kind, misc, 8 + len(body) + len(tail)) + body + tail


def executed(time: int, name: str) -> bytes:
    return record(COMM, time, struct.pack("II16s", 7, 7, name.encode()), COMM_EXEC)


def mapped(time: int, page: int = 1) -> bytes:
    return record(MMAP2, time, struct.pack("IIQQQIIQQII8s", 7, 7, 4096 * page, 4096, 0, 8, 1, 99, 0, 5, 2, b"/lib/x"))


def forked(time: int, child: int) -> bytes:
    return record(FORK, time, struct.pack("IIIIQ", child, 7, child, 7, time))


def ended(time: int) -> bytes:
    return record(EXIT, time, struct.pack("IIIIQ", 7, 1, 7, 1, time))


def lost(time: int) -> bytes:
    return record(LOST, time, struct.pack("QQ", 1, 3))


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    """Return what is made of the records in some buffers: how many were lost, and the hidden programs."""
    folder = tmp_path_factory.mktemp("watch")
    (folder / "harness.c").write_text(HARNESS.format(source=SOURCE))
    checked = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
    subprocess.run(["cc", *checked, "-o", "harness", "harness.c"], cwd=folder, check=True)

    def run(buffers: Sequence[bytes]) -> str:
        text = b"".join(struct.pack("I", len(buffer)) + buffer for buffer in buffers)
        found = subprocess.run([folder / "harness"], input=text, check=False, capture_output=True, env=WITHOUT_LEAKS)
        assert found.returncode == 0, found.stderr.decode()
        return found.stdout.decode()

    return run


def test_a_program_that_maps_nothing_is_hidden(watch: Watch) -> None:
    assert watch([executed(10, "ping") + ended(20)]) == "0 ping"
    assert watch([executed(10, "true") + mapped(11) + ended(20)]) == "0"


@pytest.mark.parametrize(
    ("buffers", "found"),
    [
        ([executed(10, "true") + lost(15) + ended(20)], "3"),
        ([executed(10, "ping") + ended(20), mapped(22) + lost(25)], "3 ping"),
        ([lost(5) + executed(10, "ping") + ended(20)], "3 ping"),
        # It went on with another processor, whose buffer had room: the loss shows only when the first has room again.
        ([executed(10, "true") + lost(30), ended(20)], "3"),
        ([executed(10, "ping") + mapped(28) + lost(30), ended(20)], "3 ping"),
    ],
    ids=["meanwhile", "later", "before", "on another processor", "later on another processor"],
)
def test_a_program_whose_mappings_may_have_been_lost_is_not_hidden(
    buffers: list[bytes], found: str, watch: Watch
) -> None:
    assert watch(buffers) == found


@pytest.mark.parametrize("mappings", [1, 63, 64, 65, 500])
def test_a_child_begins_with_all_mappings_of_its_parent(watch: Watch, mappings: int) -> None:
    pages = [mapped(2 + page, 2 * page) for page in range(1, mappings + 1)]
    children = [forked(1000 + child, 100 + child) for child in range(3)]
    assert watch([b"".join([executed(1, "python"), *pages, *children])]) == "0"


@pytest.mark.parametrize("output", [b"", b"1 0 12 0 1\0", b"1 0 12 0 0\x0012 8 1 44 /usr/li", b"1 0 12 0 0"])
def test_an_output_that_is_cut_off_is_refused(output: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        faults_by_file.parse_faults_by_file(output)

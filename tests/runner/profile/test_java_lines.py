"""The lines of a Java program that allocate."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.profile import AllocatingLine
from runner.profile.java_lines import JavaLineRecorder, find_jfr, parse_allocations, print_allocations

EVENT = """jdk.ObjectAllocationSample {{
  startTime = 10:00:00.000
  objectClass = byte[] (classLoader = bootstrap)
  weight = {weight}
  eventThread = "main" (javaThreadId = 1)
  stackTrace = [
{frames}
  ]
}}
"""
PROGRAM = """
package shop;
import java.util.*;
public class Cart {
    static List<long[]> kept = new ArrayList<>();
    static class Filler {
        void fill(int pages) {
            kept.add(Arrays.copyOf(new long[1], pages << 9));
        }
    }
    public static void main(String[] words) {
        new Filler().fill(10_000);
        System.out.println(kept.size());
    }
}
"""


def write_event(weight: str, *frames: str) -> str:
    return EVENT.format(weight=weight, frames="\n".join(f"    {frame}" for frame in frames))


def test_an_allocation_belongs_to_the_innermost_line_outside_of_the_class_libraries(tmp_path: Path) -> None:
    (tmp_path / "src" / "shop").mkdir(parents=True)
    (tmp_path / "src" / "shop" / "Cart.java").touch()
    text = write_event(
        "1.5 MB", "java.util.Arrays.copyOf(byte[], int) line: 3537", "shop.Cart$Filler.fill(int) line: 8"
    ) + write_event("512 bytes", "shop.Cart$Filler.fill(int) line: 8", "shop.Cart.main(String[]) line: 12")
    (line,) = parse_allocations(text, tmp_path)
    assert line == AllocatingLine(
        file="src/shop/Cart.java", function="Cart$Filler.fill", line=8, bytes=3 * (1 << 19) + 512
    )


@pytest.mark.parametrize("number", ["9" * 40, "9" * 400, "9" * 5000])
def test_an_allocation_of_impossible_size_is_left_out(tmp_path: Path, number: str) -> None:
    text = write_event(f"{number} GB", "shop.Cart.main(String[]) line: 12") + write_event(
        "512 bytes", "shop.Cart.main(String[]) line: 12"
    )
    (line,) = parse_allocations(text, tmp_path)
    assert line.bytes == 512


def test_a_line_in_a_folder_whose_name_is_not_text_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9") / "shop"
    folder.mkdir(parents=True)
    (folder / "Cart.java").touch()
    (line,) = parse_allocations(write_event("512 bytes", "shop.Cart.main(String[]) line: 12"), tmp_path)
    assert line.file == r"caf\udce9/shop/Cart.java"


def test_an_event_of_a_thread_with_a_very_long_name_is_read_at_once(tmp_path: Path) -> None:
    started_at = time.process_time()
    event = write_event("512 bytes", "shop.Cart.main(String[]) line: 12")
    (line,) = parse_allocations(event.replace("weight =", "eventThread =" + " " * 60_000 + "x\n  weight ="), tmp_path)
    assert line.bytes == 512
    assert time.process_time() - started_at < 2


def test_what_the_recorder_and_the_class_libraries_allocate_for_themselves_has_no_line(tmp_path: Path) -> None:
    text = write_event(
        "18.5 MB", "java.lang.StringBuilder.append(String) line: 179", "jdk.jfr.Recording.start() line: 184"
    ) + write_event("24 bytes", "java.lang.Thread.run() line: 833")
    assert parse_allocations(text, tmp_path) == ()


def test_a_class_without_a_file_in_the_tree_is_named_by_its_own(tmp_path: Path) -> None:
    (line,) = parse_allocations(write_event("2 GB", "Load.main(String[]) line: 6"), tmp_path)
    assert (line.file, line.function, line.bytes) == ("Load.java", "Load.main", 2 << 30)


@given(st.text(alphabet=st.sampled_from("jdk.ObjectAllocationSample {}[]weight=line: 019MB.\n()")))
def test_no_text_of_a_recording_is_an_error(text: str) -> None:
    folder = Path(__file__).parent
    assert isinstance(parse_allocations("jdk.ObjectAllocationSample {" + text, folder), tuple)
    parse_allocations(write_event("1 MB", text), folder)


@pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK is installed")
@pytest.mark.parametrize("folder", ["tree", "someone's tree"])
def test_a_program_records_the_line_that_allocates_and_its_output_stays(folder: str, tmp_path: Path) -> None:
    tree = tmp_path / folder
    (tree / "shop").mkdir(parents=True)
    (tree / "shop" / "Cart.java").write_text(PROGRAM)
    subprocess.run(["javac", "-g", "shop/Cart.java"], cwd=tree, check=True, timeout=60)
    recorder = JavaLineRecorder(tree)
    recorder.attach([])
    variables = recorder.add_variables({"PATH": os.environ["PATH"]})
    command = ["java", "-Xms200m", "-Xmx200m", "-XX:+UseSerialGC", "shop.Cart"]
    done = subprocess.run(command, cwd=tree, env=variables, capture_output=True, text=True, check=True, timeout=60)
    recorder.close()
    assert done.stdout == "1\n"
    assert sorted(path.name for path in tree.iterdir()) == ["shop"]

    java = Path(shutil.which("java") or "").resolve()
    jfr = find_jfr([java, java.parents[1] / "lib" / "server" / "libjvm.so"])
    assert jfr is not None
    (tmp_path / "a.jfr").write_bytes(recorder.recording)
    line = parse_allocations(print_allocations(jfr, tmp_path / "a.jfr", []), tree)[0]
    assert (line.file, line.function, line.line) == ("shop/Cart.java", "Cart$Filler.fill", 8)
    assert line.bytes >= 10_000 * 4096


def test_a_library_in_a_folder_that_this_user_may_not_search_breaks_nothing(tmp_path: Path) -> None:
    tmp_path.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:  # Root may search every folder.
            os.seteuid(65534)
        assert find_jfr([tmp_path / "java" / "libjvm.so"]) in {None, Path("/usr/bin/jfr"), Path("/bin/jfr")}
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o700)


def test_what_is_no_recording_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jfr").write_bytes(b"not a recording")
    text = print_allocations(Path(shutil.which("jfr") or "/bin/false"), tmp_path / "a.jfr", [])
    assert parse_allocations(text, tmp_path) == ()

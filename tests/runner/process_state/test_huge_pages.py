"""Huge pages by policy: on made-up hosts, and on this one where it is allowed."""

import subprocess
from pathlib import Path

import pytest

from runner.process_state import system_calls
from runner.process_state.huge_pages import HugePagePolicy, HugePages
from runner.process_state.process_attribute import can_apply
from runner.process_state.process_state import ProcessState
from runner.system.tree import Tree

FOLDER = "sys/kernel/mm/transparent_hugepage"
TOUCH = """
import mmap, re
memory = mmap.mmap(-1, 16 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
{advise}
memory.write(b"x" * (16 << 20))
print(sum(int(kib) for kib in re.findall(r"AnonHugePages: +(\\d+)", open("/proc/self/smaps").read())))
"""


def host(root: Path, enabled: str, size: str = "inherit") -> Tree:
    choices = {"enabled": ("always", "madvise", "never"), "hugepages-2048kB/enabled": ("always", "inherit", "madvise")}
    for (name, words), chosen in zip(choices.items(), (enabled, size), strict=True):
        file = root / FOLDER / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(" ".join(f"[{word}]" if word == chosen else word for word in words))
    (root / FOLDER / "hpage_pmd_size").write_text("2097152")
    return Tree(root)


@pytest.mark.parametrize(
    ("enabled", "size", "shown"),
    [
        ("always", "inherit", "always"),
        ("never", "inherit", "never"),
        ("never", "always", "always"),
        ("always", "madvise", "madvise"),
    ],
)
def test_shows_what_decides(enabled: str, size: str, shown: str, tmp_path: Path) -> None:
    assert HugePages("always", host(tmp_path, enabled, size)).read_value() == shown


def test_a_host_without_huge_pages_has_never(tmp_path: Path) -> None:
    assert HugePages("never", Tree(tmp_path)).read_value() == "never"


def test_the_host_is_changed_where_it_must_be_and_changed_back(tmp_path: Path) -> None:
    tree = host(tmp_path, "never")
    for policy in ("madvise", "always"):
        attribute = HugePages(policy, tree)  # type: ignore[arg-type]
        attribute.apply()
        assert attribute.read_value() == policy
        attribute.undo()
        assert attribute.read_value() == "never"


def test_a_process_alone_takes_less_than_its_host_gives(tmp_path: Path) -> None:
    tree = host(tmp_path, "always")
    before = (tmp_path / FOLDER / "enabled").read_text()
    attribute = HugePages("never", tree)
    attribute.apply()
    assert attribute.read_value() == "never"
    attribute.undo()
    assert attribute.read_value() == "always"
    assert (tmp_path / FOLDER / "enabled").read_text() == before


def test_the_remedy_names_the_file_that_decides(tmp_path: Path) -> None:
    assert "echo always | sudo tee /sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled" in (
        HugePages("always", host(tmp_path, "always", "madvise")).remedy
    )


def huge_kib(policy: HugePagePolicy, *, advised: bool) -> int:
    script = TOUCH.format(advise="memory.madvise(mmap.MADV_HUGEPAGE)" if advised else "")
    with ProcessState(huge_pages=policy).apply():
        done = subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize(
    ("policy", "plain", "advised"), [("never", False, False), ("madvise", False, True), ("always", True, True)]
)
def test_a_program_gets_what_the_policy_says(policy: HugePagePolicy, plain: bool, advised: bool) -> None:
    if not can_apply(HugePages(policy)):
        pytest.skip(HugePages(policy).remedy)
    before = (system_calls.get_huge_page_refusal(), HugePages(policy).read_value())
    if advised and not huge_kib(policy, advised=True):
        pytest.skip("memory is too fragmented for a huge page")
    assert (huge_kib(policy, advised=False) > 0, huge_kib(policy, advised=True) > 0) == (plain, advised)
    assert (system_calls.get_huge_page_refusal(), HugePages(policy).read_value()) == before

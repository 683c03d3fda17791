"""Which processes are observed: by process, name, control group, unit and container."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.attach import process_choice
from runner.attach.process_table import LiveProcess, find_busiest, find_descendants, read_process_table
from runner.errors import FaultwatchError
from runner.system.tree import Tree

IDENTITY = "3f2a" * 16


def make_table(*processes: LiveProcess) -> dict[int, LiveProcess]:
    return {process.pid: process for process in processes}


def make_process(pid: int, parent: int = 1, words: str = "server", group: str = "/", name: str = "") -> LiveProcess:
    split = tuple(words.split())
    return LiveProcess(pid, parent, pid, name or (split[0].rpartition("/")[2] if split else "worker"), split, group)


SERVERS = make_table(
    make_process(1, 0, "/sbin/init"),
    make_process(10, 1, "/usr/sbin/nginx -g daemon", "/system.slice/nginx.service"),
    make_process(11, 10, "nginx: worker process", "/system.slice/nginx.service", name="nginx"),
    make_process(20, 1, "postgres -D /data", f"/machine.slice/libpod-{IDENTITY}.scope/container"),
    make_process(21, 20, "postgres: checkpointer", f"/machine.slice/libpod-{IDENTITY}.scope/container"),
    make_process(30, 1, "python3 app.py", "/user.slice"),
    make_process(40, 1, "python3 other.py", "/user.slice"),
    make_process(41, 1, "serve /srv/", "/user.slice"),
    make_process(50, 2, "", "/", name="kworker/0:1"),
    make_process(60, 1, "bash -c faultwatch attach --name nginx", "/user.slice"),
    make_process(61, 60, "python3 faultwatch attach --name nginx", "/user.slice"),
)


def test_a_process_is_observed_with_its_descendants() -> None:
    assert process_choice.choose_process_by_pid(SERVERS, 10).pids == (10, 11)


def test_a_name_finds_the_tree_of_a_program_and_of_a_script() -> None:
    assert process_choice.choose_processes_by_name(SERVERS, "nginx", 61).pids == (10, 11)
    assert process_choice.choose_processes_by_name(SERVERS, "postgres", 61).pids == (20, 21)
    assert process_choice.choose_processes_by_name(SERVERS, "app.py", 61).root.pid == 30


def test_a_name_that_several_trees_have_is_refused_with_their_ids() -> None:
    with pytest.raises(FaultwatchError, match=r"2 separate processes.*30 \(python3 app.py\), 40 \(python3 other.py\)"):
        process_choice.choose_processes_by_name(SERVERS, "python3", 61)


@pytest.mark.parametrize("name", ["nothing", "kworker/0:1", "", "faultwatch"])
def test_a_name_without_a_process_is_refused(name: str) -> None:
    with pytest.raises(FaultwatchError, match="no process is named"):
        process_choice.choose_processes_by_name(SERVERS, name, 61)


@pytest.mark.parametrize("pid", [2, 99, 50])
def test_a_missing_process_and_a_thread_of_the_kernel_are_refused(pid: int) -> None:
    with pytest.raises(FaultwatchError, match=r"there is no process|is a kernel thread"):
        process_choice.choose_process_by_pid(SERVERS, pid)


def test_the_monitor_of_a_container_is_not_observed_with_the_container() -> None:
    table = make_table(
        make_process(19, 1, "conmon --api-version 1", f"/machine.slice/libpod-conmon-{IDENTITY}.scope"),
        make_process(20, 19, "postgres -D /data", f"/machine.slice/libpod-{IDENTITY}.scope/container"),
        make_process(21, 20, "postgres: checkpointer", f"/machine.slice/libpod-{IDENTITY}.scope/container"),
    )
    choice = process_choice.choose_processes_by_container_id(table, IDENTITY[:12])
    assert choice is not None
    assert (choice.root.pid, choice.pids) == (20, (20, 21))


def test_the_first_of_a_thousand_processes_that_started_each_other_is_found_at_once() -> None:
    table = make_table(*(make_process(pid, pid - 1) for pid in range(1, 1_201)))
    started_at = time.process_time()
    assert process_choice.choose_processes_by_name(table, "server").root.pid == 1
    assert time.process_time() - started_at < 1


@pytest.mark.parametrize("unit", ["nginx", "nginx.service"])
def test_a_unit_is_found_by_its_control_group(unit: str) -> None:
    assert process_choice.choose_processes_by_unit(SERVERS, unit).pids == (10, 11)


@pytest.mark.parametrize("path", ["/system.slice/nginx.service", "/sys/fs/cgroup/system.slice/nginx.service/"])
def test_a_control_group_is_found_by_its_path(path: str) -> None:
    assert process_choice.choose_processes_by_group(SERVERS, path).pids == (10, 11)


@pytest.mark.parametrize("path", ["/system.slice/ngin", "/sys/fs/cgroup", "/", "/gone"])
def test_a_control_group_without_processes_is_refused(path: str) -> None:
    with pytest.raises(FaultwatchError, match="has no processes"):
        process_choice.choose_processes_by_group(SERVERS, path)


def test_units_of_two_users_are_told_apart() -> None:
    table = make_table(
        make_process(5, 1, "a", "/user.slice/user-1.slice/web.service"),
        make_process(6, 1, "b", "/user.slice/user-2.slice/web.service"),
    )
    with pytest.raises(FaultwatchError, match="2 units are named"):
        process_choice.choose_processes_by_unit(table, "web")


def test_a_group_whose_name_begins_like_a_unit_is_not_taken_for_it() -> None:
    table = {7: LiveProcess(7, 1, 5, "web", ("web",), "/system.slice/web.service-old/web.service")}
    assert process_choice.choose_processes_by_unit(table, "web").pids == (7,)


def test_a_container_is_found_by_the_beginning_of_its_id() -> None:
    choice = process_choice.choose_processes_by_container_id(SERVERS, IDENTITY[:12])
    assert choice is not None
    assert choice.pids == (20, 21)
    assert process_choice.choose_processes_by_container_id(SERVERS, "beef") is None
    assert process_choice.choose_processes_by_container_id(SERVERS, "") is None


@pytest.mark.parametrize(("root_ticks", "child_ticks", "busiest"), [(1, 500, 6), (100, 500, 5), (0, 0, 5)])
def test_a_starter_is_not_the_program(tmp_path: Path, root_ticks: int, child_ticks: int, busiest: int) -> None:
    for pid, ticks in ((5, root_ticks), (6, child_ticks)):
        (tmp_path / "proc" / str(pid)).mkdir(parents=True)
        (tmp_path / "proc" / str(pid) / "stat").write_text(f"{pid} (x) S " + " ".join(["0"] * 10) + f" {ticks} 0 0 0")
    table = make_table(make_process(5), make_process(6, 5))
    assert find_busiest(Tree(tmp_path), table, 5) == busiest


@given(st.dictionaries(st.integers(1, 30), st.integers(0, 30)))
def test_descendants_end_even_if_parents_form_a_ring(parents: dict[int, int]) -> None:
    table = make_table(*(make_process(pid, parent) for pid, parent in parents.items()))
    for pid in table:
        family = find_descendants(table, pid)
        assert family[0] == pid
        assert len(set(family)) == len(family)
        assert all(table[child].parent in family for child in family[1:])


@given(st.dictionaries(st.integers(3, 30), st.tuples(st.integers(0, 30), st.sampled_from(["a", "b"]))))
def test_a_name_chooses_one_tree_or_none(entries: dict[int, tuple[int, str]]) -> None:
    # A parent is older than its child, so its id is smaller here.
    table = make_table(*(make_process(pid, parent % pid, words) for pid, (parent, words) in entries.items()))
    try:
        choice = process_choice.choose_processes_by_name(table, "a")
    except FaultwatchError:
        return
    matching = {pid for pid, process in table.items() if process.words == ("a",)}
    assert choice.root.pid in matching
    assert matching <= set(choice.pids)


@given(st.text(max_size=40), st.text(max_size=80))
def test_a_stat_file_with_any_text_is_read(tmp_path_factory: pytest.TempPathFactory, name: str, rest: str) -> None:
    root = tmp_path_factory.mktemp("root")
    folder = root / "proc" / "7"
    folder.mkdir(parents=True)
    (folder / "stat").write_bytes(f"7 ({name}) {rest}".encode(errors="replace"))
    assert set(read_process_table(Tree(root))) <= {7}


def test_a_process_is_read_whatever_its_name_is(tmp_path: Path) -> None:
    folder = tmp_path / "proc" / "7"
    folder.mkdir(parents=True)
    (folder / "stat").write_text("7 (a) S 1) S 3 " + " ".join(map(str, range(5, 60))))
    (folder / "cmdline").write_bytes(b"./a b\0-x\0")
    (folder / "cgroup").write_text("5:memory:/old\n0::/new.slice/x.scope\n")
    process = read_process_table(Tree(tmp_path))[7]
    assert (process.parent, process.name, process.words) == (3, "a) S 1", ("./a b", "-x"))
    assert process.group == "/new.slice/x.scope"

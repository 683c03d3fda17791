"""Each format as its makers write it: what is read, and what is refused."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pyperf
import pytest
from msgspec.structs import replace

from runner.contract import build_suite
from runner.contract.report import Report, Revision
from runner.errors import FaultwatchError
from runner.importing import ImportDefaults, files, make_reports, read_file
from runner.importing.files import read_folder
from runner.importing.formats.csv_columns import parse_column_map

SAID = ImportDefaults(subject="s", host="h", revision="v1", case="copy 4", started_at=datetime(2025, 1, 1, tzinfo=UTC))
ROWS = """when,what,program,faults,clock_ms,kernel
20250101_000000,aaa,lu.exe 1024,9008.0,4001.5,5.4
2025-01-02T00:00:00+01:00,bbb,lu.exe 1024,9009,4002.5,5.15
2025-01-03,aaa,fib,7,,5.4
"""
MAP = "started_at=when,revision=what,case=program,minor-faults=faults,task-clock=clock_ms:ms,kernel.release=kernel"
CSV = ImportDefaults(subject="s", host="h", columns=parse_column_map(MAP))


def imported(path: Path, text: str, defaults: ImportDefaults) -> list[Report]:
    path.write_text(text)
    return make_reports(read_file(path, defaults), defaults)


def test_csv_becomes_runs(tmp_path: Path) -> None:
    first, second, third = imported(tmp_path / "x.csv", ROWS, CSV)
    assert first.case.name == "lu.exe[arguments=1024]"
    assert first.case == second.case
    assert third.case.name == "fib"
    assert first.list_values("minor-faults") == (9008,)
    assert isinstance(first.list_values("minor-faults")[0], int)
    assert first.list_values("task-clock") == (4.0015,)
    assert third.metrics == ("minor-faults",), "an empty cell is no reading"
    assert second.environment.settings == {"import.format": "csv", "kernel.release": "5.15"}
    assert second.started_at == datetime(2025, 1, 1, 23, tzinfo=UTC)
    assert first.runner_version == "imported"


def test_revisions_without_a_repository_stand_in_the_order_of_measuring(tmp_path: Path) -> None:
    first, second, third = imported(tmp_path / "x.csv", ROWS, CSV)
    assert first.revision == third.revision, "measured again later, it stays where it was first"
    assert first.revision.committed_at < second.revision.committed_at
    assert len(first.revision.commit) == 64, "no hash that a repository of today has"
    assert first.revision.title == "aaa (imported; placed by its first measurement)"


def test_a_full_hash_stays_and_a_repository_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(ROWS.replace("aaa", "a" * 40))
    found = read_file(path, CSV)
    revision = make_reports(found, CSV)[0].revision
    assert revision.commit == "a" * 40
    assert revision.title == "(imported; placed by its first measurement)"
    real = Revision(commit="b" * 40, committed_at=datetime(2020, 1, 1, tzinfo=UTC), title="Real")
    known = make_reports(found, replace(CSV, find_commit=lambda name: real if name == "bbb" else None))
    assert known[1].revision == real


def test_the_same_content_is_the_same_run_and_other_content_another(tmp_path: Path) -> None:
    first = imported(tmp_path / "x.csv", ROWS, CSV)
    (tmp_path / "y.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    assert make_reports(read_file(tmp_path / "y.csv.gz", CSV), CSV) == first
    other = imported(tmp_path / "z.csv", ROWS.replace("9009", "9010"), CSV)
    assert [a.run_id == b.run_id for a, b in zip(first, other, strict=True)] == [True, False, True]
    doubled = imported(tmp_path / "w.csv", ROWS + ROWS.splitlines()[1] + "\n", CSV)
    assert doubled == first, "a line twice is one run"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (("9009", "many"), "line 3: 'many' is not a valid number for minor-faults"),
        (
            ("9009", "9009.5"),
            "line 3: '9009.5' is not a valid count for minor-faults (write a whole number, 0 or more)",
        ),
        (("9009", "-1"), "line 3: '-1' is not a valid count"),
        (("9009", "nan"), "line 3: 'nan' is not a valid number"),
        (("9009", "1e999"), "line 3"),
        (("9009", "9" * 400), f"line 3: '{'9' * 60}' is not a valid number"),
        (("20250101_000000", "yesterday"), "line 2: 'yesterday' is not a time"),
        ((",5.15", ""), "line 3 and the first line have different numbers of fields"),
        (("faults,clock", "pages,clock"), "there is no column faults"),
        (("bbb", ""), "line 3: the revision is unknown"),
        (("7,,5.4", ",,5.4"), "line 4: no metric has a value"),
    ],
)
def test_a_damaged_file_is_refused_with_the_line(damage: tuple[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError) as caught:
        imported(tmp_path / "x.csv", ROWS.replace(*damage), CSV)
    assert said in str(caught.value)


@pytest.mark.parametrize("cell", ["5.4\u2028x", '"5.4\nx"', "5.4\x0cx"])
def test_a_cell_may_contain_what_ends_a_line_elsewhere(cell: str, tmp_path: Path) -> None:
    (run,) = imported(tmp_path / "x.csv", f"{ROWS.splitlines()[0]}\n2025-01-03,aaa,fib,7,,{cell}\n", CSV)
    assert run.environment.settings["kernel.release"] == cell.strip('"')


def test_a_column_that_occurs_twice_is_refused_if_it_is_read(tmp_path: Path) -> None:
    header, *rows = ROWS.splitlines()
    for name in ("faults", "remark"):
        text = "".join(f"{line}\n" for line in (f"{header},{name},{name}", *(f"{row},1,2" for row in rows)))
        if name == "remark":
            assert len(imported(tmp_path / "x.csv", text, CSV)) == 3
        else:
            with pytest.raises(FaultwatchError, match="the column faults occurs more than once"):
                imported(tmp_path / "x.csv", text, CSV)


@pytest.mark.parametrize("text", ["minor-fault=x", "minor-faults", "=x", "revision=", "revision=x,revision=y"])
def test_a_map_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(FaultwatchError, match="--columns"):
        parse_column_map(text)


@pytest.mark.parametrize("text", ["minor-faults=faults:ms", "max-rss=rss:us"])
def test_only_a_time_may_have_a_unit(text: str) -> None:
    with pytest.raises(FaultwatchError, match=f"--columns: '{text}' gives a unit of time to ") as caught:
        parse_column_map(text)
    assert "\n" not in caught.value.what
    assert parse_column_map("elapsed=took:ms") == {"elapsed": "took:ms"}


PERF_CSV = "# started on Fri Aug  1 10:00:00 2025\n\n1234{0}{0}minor-faults{0}5000000{0}100.00{0}{0}\n"


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
def test_perf_x_with_any_separator(separator: str, tmp_path: Path) -> None:
    (run,) = imported(tmp_path / "x", PERF_CSV.format(separator), SAID)
    assert run.list_values("minor-faults") == (1234,)
    assert run.environment.settings == {"import.format": "perf stat -x", "counting.scope": "user+kernel"}
    assert run.samples[0].perf_output.startswith("# started")


def test_perf_j(tmp_path: Path) -> None:
    line = (
        '{"counter-value" : "47.000000", "unit" : "", "event" : "minor-faults:u", "event-runtime" : 500, '
        '"pcnt-running" : 100.00, "metric-value" : 0.0, "metric-unit" : "(null)"}\n'
    )
    (run,) = imported(tmp_path / "x", line, SAID)
    assert run.list_values("minor-faults") == (47,)
    assert run.environment.settings["counting.scope"] == "user"


def test_perf_for_people_with_digits_grouped_the_indian_way(tmp_path: Path) -> None:
    text = (
        "\n Performance counter stats for './copy 4':\n\n          2,62,992      minor-faults\n\n"
        "       4.002295820 seconds time elapsed\n\n       3.970250000 seconds user\n"
        "       0.032018000 seconds sys\n\n\n"
    )
    (run,) = imported(tmp_path / "x", text, SAID)
    assert run.list_values("minor-faults") == (262_992,)
    assert run.list_values("sys-time") == (0.032018,)
    assert (run.finished_at - run.started_at).total_seconds() == pytest.approx(4.002296, abs=1e-5)


def test_perf_says_when_it_started_and_nothing_says_what_ran(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(PERF_CSV.format(";"))
    (record,) = read_file(path, ImportDefaults(subject="s", host="h", revision="v1"))
    assert record.started_at.astimezone() == datetime(2025, 8, 1, 10).astimezone()
    with pytest.raises(FaultwatchError, match="the case is unknown"):
        make_reports([record], ImportDefaults(subject="s", host="h", revision="v1"))


@pytest.mark.parametrize("start", ["Mon Feb 31 10:00:00 2025", "Mon Jan  1 00:00:00 0001", "Xyz Jan  1 10:00:00 2025"])
def test_a_start_that_is_no_time_is_refused(start: str, tmp_path: Path) -> None:
    text = PERF_CSV.format(",").replace("Fri Aug  1 10:00:00 2025", start)
    with pytest.raises(FaultwatchError, match="is not a time"):
        imported(tmp_path / "x", text, replace(SAID, started_at=None))


def test_an_event_whose_name_no_report_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        FaultwatchError,
        match=(
            r"not the output of a single perf stat run|not in a format that can be "
            r"imported"
        ),
    ):
        imported(tmp_path / "x", f"<not supported>,,{'e' * 2000},0,100.00,,\n", SAID)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"benchmarks": []}', "\0", "a,b\n1,2\n", '{"benchmarks": [{}]}'])
def test_what_is_no_measurement_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError):
        imported(tmp_path / "x", text, SAID)


def test_our_own_suite_comes_back_as_the_run_it_was(tmp_path: Path) -> None:
    (made,) = imported(tmp_path / "x", PERF_CSV.format(","), SAID)
    suite = build_suite(made)
    assert suite is not None
    suite.dump(str(tmp_path / "suite.json"))
    (back,) = make_reports(read_file(tmp_path / "suite.json", ImportDefaults()), ImportDefaults())
    assert (back.run_id, back.case, back.host, back.subject) == (made.run_id, made.case, made.host, made.subject)
    assert back.list_values("minor-faults") == (1234,)
    assert back.environment.settings["import.environment"] == made.environment.hash


def test_a_suite_whose_revision_holds_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    (made,) = imported(tmp_path / "x", PERF_CSV.format(","), SAID)
    suite = build_suite(made)
    assert suite is not None
    suite.dump(str(tmp_path / "suite.json"))
    text = (tmp_path / "suite.json").read_text()
    revision = made.revision.commit
    assert revision in text
    with pytest.raises(FaultwatchError):
        imported(tmp_path / "y", text.replace(revision, r"v1\ud800"), ImportDefaults())


def test_a_suite_of_others_has_speed_and_with_the_hook_faults(tmp_path: Path) -> None:
    counted = {
        "faultwatch_minor_faults": 2400, "faultwatch_major_faults": 0, "faultwatch_values": 3,
        "faultwatch_user_time": 0.03, "faultwatch_sys_time": 0.01,
    }  # fmt: skip
    told = {"name": "touch", "loops": 8, "unit": "second", "date": "2025-01-01 10:00:00", "python_version": "3.11"}
    runs = [pyperf.Run([0.5, 0.5, 0.5], metadata=told | hooked, collect_metadata=False) for hooked in (counted, {})]
    pyperf.BenchmarkSuite([pyperf.Benchmark(runs)]).dump(str(tmp_path / "suite.json"))
    (run,) = make_reports(read_file(tmp_path / "suite.json", SAID), SAID)
    assert run.case.name == "touch"
    assert run.list_values("throughput") == (2.0, 2.0)
    assert run.list_values("faults-per-operation") == (100.0,)
    assert run.list_values("sys-percent") == (25.0,)
    assert run.environment.settings["pyperf.python_version"] == "3.11"


def write_suite(path: Path, **metadata: str) -> None:
    """Write a suite of pyperf with two benchmarks, whose runs have this metadata."""
    benchmarks = []
    for name in ("first", "second"):
        told = {"name": name, "loops": 1, "unit": "second", **metadata}
        benchmarks.append(pyperf.Benchmark([pyperf.Run([0.5], metadata=told, collect_metadata=False)]))
    pyperf.BenchmarkSuite(benchmarks).dump(str(path))


def test_what_a_suite_says_wins_over_the_options(tmp_path: Path) -> None:
    write_suite(tmp_path / "suite.json", date="2025-02-03 10:00:00", commit_id="abc1234")
    runs = read_file(tmp_path / "suite.json", SAID)
    assert {run.revision for run in runs} == {"abc1234"}
    assert {run.started_at for run in runs} == {datetime(2025, 2, 3, 10, tzinfo=UTC)}
    assert [run.case for run in runs] == ["first", "second"]


def test_what_perf_says_wins_over_the_options(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(PERF_CSV.format(","))
    (run,) = read_file(tmp_path / "x", SAID)
    assert run.started_at.astimezone() == datetime(2025, 8, 1, 10).astimezone()


@pytest.mark.parametrize("kind", ["pyperf", "csv"])
def test_the_options_win_over_the_name_of_a_file_which_wins_over_its_time(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "2025-03-04-abc1234"
    columns = {} if kind == "pyperf" else {"minor-faults": "faults"}
    if kind == "pyperf":
        write_suite(file)
    else:
        file.write_text("faults\n7\n")
    said = read_file(file, replace(SAID, columns=columns))
    assert {(run.revision, run.started_at) for run in said} == {("v1", SAID.started_at)}
    named = read_file(file, ImportDefaults(columns=columns))
    assert {(run.revision, run.started_at) for run in named} == {("abc1234", datetime(2025, 3, 4, tzinfo=UTC))}
    untimed = read_file(file.rename(tmp_path / "suite"), replace(SAID, columns=columns, started_at=None))
    assert not any(run.time_is_known for run in untimed)


@pytest.mark.parametrize(
    ("path", "revision"),
    [("v1.json", "v1"), ("v1.2", ""), ("v1.2/out.csv", ""), ("v1/out.csv", "v1"), ("v2.0.json", "v2.0")],
)
def test_only_the_extension_of_a_file_is_no_part_of_a_revisions_name(path: str, revision: str, tmp_path: Path) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    write_suite(tmp_path / path)
    commit = Revision(commit="a" * 40, committed_at=datetime(2025, 3, 4, tzinfo=UTC))
    commits = {"v1": commit, "v2.0": commit}
    defaults = ImportDefaults(find_commit=commits.get)
    if revision:
        assert {run.revision for run in read_folder(tmp_path, defaults).runs} == {revision}
    else:
        with pytest.raises(FaultwatchError, match="revision"):
            read_folder(tmp_path, defaults)


def test_a_small_file_that_holds_gigabytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1000)
    (tmp_path / "bomb").write_bytes(gzip.compress(b"0" * 1001))
    with pytest.raises(FaultwatchError, match="when decompressed"):
        read_file(tmp_path / "bomb", SAID)
    (tmp_path / "large").write_bytes(b"0" * 1001)
    with pytest.raises(FaultwatchError, match="larger than"):
        read_file(tmp_path / "large", SAID)

"""Programs that leave files for their next execution, or take their input away, count the same at each execution."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.comparison import Comparison, Verdict
from runner.contract.report import Build, Environment, Host, Outcome, Report, Revision
from runner.measuring import trial
from runner.measuring.comparison import Pairs, compare_interleaved_trials
from runner.measuring.measurement import measure_case
from runner.measuring.sampling import Sampling
from runner.measuring.trial import Bench, Subject, Trial
from runner.subject.build_record import write_record
from runner.subject.session_tree_restorer import TREE_FOLDER, keep_copy
from runner.workload import Workload, list_cases

pytestmark = pytest.mark.perf

REVISION = Revision(commit="a" * 40, committed_at=datetime(2024, 1, 1, tzinfo=UTC))
Measure = Callable[..., Report]
LOG = """
python3 -c "
from pathlib import Path
log = Path('own.log')
log.touch()
log.write_bytes(log.read_bytes() + b'x' * 4096 * 256)
"
"""
CACHE = """
python3 -c "
from pathlib import Path
cache = Path('cache')
try:
    cache.read_bytes()
except FileNotFoundError:
    cache.write_bytes(bytes(bytearray(4096 * 1000)))
"
"""
REDIS = """
redis-server --port 0 --unixsocket ./redis.sock --save 900 1 --daemonize no --logfile redis.log & server=$!
sleep 1
redis-benchmark -s ./redis.sock -q -c 1 -n 20000 -r 100000 -d 512 -t set >/dev/null
redis-cli -s ./redis.sock shutdown save
wait $server
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A built tree with an input and a module."""
    tree = tmp_path / "place" / TREE_FOLDER
    tree.mkdir(parents=True)
    (tree / "input").write_text("text\n" * 1000)
    (tree / "own.log").touch()
    (tree / "long.py").write_text("".join(f"def f{number}(): return {number} + 1\n" for number in range(2000)))
    write_record(tree.parent, keep_copy(tree.parent, Build(), None))
    return tree


@pytest.fixture
def measure_script(tree: Path) -> Measure:
    """Return a function that measures a script in the tree; the keys are those of ``[run]``."""

    def measure_in_tree(script: str, *, samples: int = 4, **run: object) -> Report:
        command = ["sh", "-c", script.replace("{", "{{").replace("}", "}}")]
        workload = Workload.model_validate(
            {"workload": {"name": "script", "timeout": 60}, "run": {"command": command, "huge_pages": "never", **run}}
        )
        bench = Bench(Host(name="host"), lambda state: Environment(settings=state.read_settings()))
        rule = Sampling(min_samples=samples, max_samples=samples)
        case = list_cases(workload)[0]
        return measure_case(workload, case, tree, bench=bench, subject="s", revision=REVISION, sampling=rule)

    return measure_in_tree


@pytest.fixture
def make_trial(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Trial]:
    """Return a function that makes a trial of a script in the tree, whose warm-up is a single execution."""
    monkeypatch.setattr(trial, "_MAX_REPEATED_SECONDS", 0.0)

    def make_trial_in_tree(script: str, folder: Path = tree) -> Trial:
        workload = Workload.model_validate(
            {"workload": {"name": "script", "timeout": 60}, "run": {"command": ["sh", "-c", script]}}
        )
        bench = Bench(Host(name="host"), lambda state: Environment(settings=state.read_settings()))
        return Trial(workload, Subject("s", REVISION, list_cases(workload)[0]), bench, folder)

    return make_trial_in_tree


def decide_same(_: object) -> Comparison:
    return Comparison(verdict=Verdict.SAME, remaining_pairs=0, metrics=(), settings=())


def spread(report: Report) -> float:
    assert report.outcome is Outcome.MEASURED, report.failure
    faults = report.list_values("page-faults")
    return (max(faults) - min(faults)) / min(faults)


def test_a_log_that_grows_does_not_move_the_count(measure_script: Measure) -> None:
    kept = measure_script(LOG, keep=["own.log"])
    assert spread(kept) > 0.1, "the program does more at each execution"
    report = measure_script(LOG)
    assert spread(report) < 0.01
    assert report.remarks[0] == (
        "an execution changes own.log in its folder; that is undone before the next execution "
        '([run] keep = ["own.log"] keeps it)'
    )


def test_a_cache_that_the_next_execution_reads_is_named(measure_script: Measure) -> None:
    report = measure_script(CACHE)
    assert spread(report) < 0.01
    assert report.remarks[0] == (
        "an execution leaves cache in its folder, and the next execution would read this; it is removed before "
        'the next execution ([run] keep = ["cache"] keeps it)'
    )
    kept = measure_script(CACHE, keep=["cache"])
    assert not any("leaves" in remark for remark in kept.remarks)
    assert min(report.list_values("page-faults")) > max(kept.list_values("page-faults")) + 500


def test_a_program_may_remove_its_input(measure_script: Measure, tree: Path) -> None:
    report = measure_script("gzip input")
    assert spread(report) < 0.01
    assert "leaves input.gz and removes input in its folder" in report.remarks[0]
    kept = measure_script("gzip input", keep=["*"])
    assert kept.failure


def test_a_program_that_leaves_nothing_has_no_remark(measure_script: Measure) -> None:
    report = measure_script("cat input; touch scratch; rm scratch")
    assert not any("execution" in remark for remark in report.remarks)


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("redis-server"), reason="there is no redis-server")
def test_the_dump_of_redis_does_not_move_the_next_start(measure_script: Measure) -> None:
    report = measure_script(REDIS, samples=10)
    faults = report.list_values("page-faults")
    assert len(faults) == 10
    # A dump that is loaded adds thousands of faults.
    assert spread(report) < 0.05, faults
    assert abs(sum(faults[5:]) - sum(faults[:5])) < 0.02 * sum(faults), faults
    assert "dump.rdb" in report.remarks[0]
    assert "and the next execution would read this" in report.remarks[0]


def test_the_execution_that_writes_pythons_bytecode_is_not_the_one_that_is_watched(measure_script: Measure) -> None:
    measure_script("exec python3 -c pass", samples=1)  # It prepares the interpreter, so that one watch would suffice.
    report = measure_script("exec python3 -c 'import long'", samples=2)
    assert len(set(report.list_values("minor-faults"))) == 1
    assert report.list_values("file-faults"), "the watched execution had the same count, so its parts are known"


def test_head_does_not_meet_what_base_left_in_the_tree_that_they_share(make_trial: Callable[..., Trial]) -> None:
    base, head = make_trial("mkdir results"), make_trial("mkdir results")
    result = compare_interleaved_trials(base, head, decide_same, pairs=Pairs(2, 2))
    assert (result.base.outcome, result.head.outcome) == (Outcome.MEASURED, Outcome.MEASURED), result.head.failure
    assert result.base.files
    assert result.head.files
    assert result.head.files.own_bytes == result.base.files.own_bytes, "head failed while it was watched"


def test_a_head_that_is_measured_alone_does_not_meet_what_it_left(
    make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    base = make_trial(f"mkdir {tmp_path}/once", tmp_path)
    result = compare_interleaved_trials(base, make_trial("mkdir results"), decide_same, pairs=Pairs(2, 2))
    assert (result.base.outcome, result.head.outcome) == (Outcome.FAILED, Outcome.MEASURED), result.head.failure
    assert result.head.files
    assert result.head.files.own_bytes, "head failed while it was watched"

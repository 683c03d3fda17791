"""Why an execution failed, and whether another attempt can succeed."""

from types import SimpleNamespace
from typing import Any

import pytest

from runner.execution.execute import ProgramResult
from runner.perf.program_failure import ExecutionFailure, raise_on_failure


@pytest.mark.parametrize(("limit", "temporary"), [("none", True), ("4096", False)])
def test_a_host_without_memory_is_a_temporary_reason_and_a_limit_of_the_case_is_not(
    limit: str, temporary: bool
) -> None:
    group: Any = SimpleNamespace(count_killed_processes=lambda: 1, read_value=lambda: limit)
    with pytest.raises(ExecutionFailure, match="memory ran out") as failure:
        raise_on_failure(["./program"], "", ProgramResult(0, "", "", 1.0, 10.0), group)
    assert failure.value.temporary is temporary

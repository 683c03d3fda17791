"""The workload file of a pull request: a mistake is one line, never a crash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from runner.errors import FaultwatchError
from runner.workload.bound_case import bind_case
from runner.workload.budget_lines import find_budget_lines
from runner.workload.definition import load_workload
from runner.workload.parameter_matrix import list_cases
from tests.fuzz.door import Attempt
from tests.fuzz.mutation import TEXTS, mutated_bytes, mutated_text

SHARE = 60
_SHIPPED = Path(__file__).parents[3] / "workloads"
_WORDS = (
    *("1e400", "-1", "9223372036854775808", "nan", "[]", "{}", "[[]]", "true", '""', "'{'", "'{x}'", "'}}'"),
    *("1979-05-27T07:32:00Z", "0x7fffffffffffffff", "[1, 2]", '["a", "a"]', "{ a = 1 }", "'\\u0000'", '"\\u0000"'),
    *(f"'{text}'" for text in TEXTS if "'" not in text and "\n" not in text and text.isprintable()),
)


@contextmanager
def opened(folder: Path) -> Iterator[Attempt]:
    texts = [path.read_text() for path in sorted(_SHIPPED.glob("*/workload.toml"))]
    file = folder / "workload.toml"

    def attempt(rng: Random) -> str:
        text = rng.choice(texts)
        for _ in range(rng.choice((1, 1, 2, 3))):
            text = _with_value(text, rng) if rng.random() < 0.5 else mutated_text(text, rng)
        data = text.encode(errors="surrogatepass")
        file.write_bytes(mutated_bytes(data, rng) if rng.random() < 0.1 else data)
        try:
            workload = load_workload(file)
            for case in list_cases(workload)[:3]:
                bind_case(workload, case)
            find_budget_lines(text)
        except FaultwatchError:
            return "refused"
        return "read"

    yield attempt


def _with_value(text: str, rng: Random) -> str:
    """Exchange the value of a key, or add a table."""
    lines = text.split("\n")
    keys = [number for number, line in enumerate(lines) if "=" in line and not line.startswith("#")]
    if not keys:
        return text
    at = rng.choice(keys)
    name = lines[at].partition("=")[0]
    lines[at] = f"{name}= {rng.choice(_WORDS)}"
    if rng.random() < 0.1:
        lines.insert(at, rng.choice(("[run]", "[matrix]", "[[include]]", "[[exclude]]", "[metrics.budgets]", "[x.y]")))
    return "\n".join(lines)

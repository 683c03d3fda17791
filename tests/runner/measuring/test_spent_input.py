from pathlib import Path

from runner.measuring.spent_input import inputs_of, spent


def test_an_input_that_a_program_removed_is_named(tmp_path: Path) -> None:
    for name in ("LICENSE", "README"):
        (tmp_path / name).write_text("text")
    command = ("-c", "exec ./gzip --out=x LICENSE < README; true ../LICENSE")
    inputs = inputs_of(command, tmp_path)
    assert inputs == {"LICENSE", "README"}
    assert spent(inputs, tmp_path) == ""
    (tmp_path / "LICENSE").rename(tmp_path / "LICENSE.gz")
    assert spent(inputs, tmp_path).startswith("an execution before removed or renamed LICENSE, so the command works")

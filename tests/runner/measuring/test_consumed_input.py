from pathlib import Path

from runner.measuring.consumed_input import Inputs

COMMAND = ("-c", "exec ./gzip --out=x LICENSE < README; true ../LICENSE")


def inputs(tree: Path) -> Inputs:
    for name in ("LICENSE", "README"):
        (tree / name).write_text("text")
    return Inputs.read(COMMAND, tree)


def test_an_input_that_a_program_removed_is_named(tmp_path: Path) -> None:
    before = inputs(tmp_path)
    assert before.names == {"LICENSE", "README"}
    assert before.describe_consumed(tmp_path) == ""
    (tmp_path / "LICENSE").rename(tmp_path / "LICENSE.gz")
    assert before.describe_consumed(tmp_path).startswith(
        "an earlier execution removed or renamed LICENSE, so the command works"
    )


def test_what_lies_beside_an_input_of_another_folder_is_no_output(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    records = tmp_path / "records"
    records.touch()
    before = Inputs.read((str(records),), tree)
    (tmp_path / "other").touch()
    assert before.describe_consumed(tree) == ""
    records.unlink()
    assert "removed or renamed" in before.describe_consumed(tree)


def test_an_output_that_a_program_left_beside_its_input_is_named(tmp_path: Path) -> None:
    before = inputs(tmp_path)
    for number in range(5):
        (tmp_path / f"LICENSE.{number}").touch()
    said = before.describe_consumed(tmp_path)
    assert said.startswith("an earlier execution left LICENSE.0, LICENSE.1, LICENSE.2 and 2 more, so the command may")
    assert Inputs.read(COMMAND, tmp_path).describe_consumed(tmp_path) == "", "what was there before is no output"
    assert Inputs.read(("--fast",), tmp_path).describe_consumed(tmp_path) == "", (
        "without an input, nothing lies beside it"
    )

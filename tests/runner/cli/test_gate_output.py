import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from runner.cli.gate_output import write_outputs
from runner.cli.output_files import require_writable, write_output_file
from runner.errors import FaultwatchError
from tests.runner.gate_files.made_answers import case, finding, gate


def test_each_file_that_was_asked_for_is_written_and_no_other(tmp_path: Path) -> None:
    made = gate(case(), findings=(finding(case()),))
    files = {name: tmp_path / "out" / name for name in ("markdown", "junit", "code_quality")} | {"sarif": None}
    require_writable(files)
    write_outputs(files, *made)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["code_quality", "junit", "markdown"]
    assert (tmp_path / "out/markdown").read_text() == made[1].summary
    assert etree.parse(tmp_path / "out/junit").getroot().tag == "testsuites"
    assert len(json.loads((tmp_path / "out/code_quality").read_text())) == 1


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FaultwatchError, match="file/x cannot be written") as refused:
        require_writable({"code_quality": tmp_path / "file" / "x"})
    assert "--code-quality" in refused.value.remedy


def test_two_formats_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError, match="--junit and --sarif use the same file"):
        require_writable({"junit": tmp_path / "x", "sarif": tmp_path / "." / "x"})


def test_standard_output_in_a_file_is_continued_and_not_replaced(tmp_path: Path) -> None:
    """`> FILE` makes /dev/stdout a link to a regular file."""
    script = (
        "from pathlib import Path\n"
        "from runner.cli.output_files import require_writable, write_output_file\n"
        "file = Path('/dev/stdout')\n"
        "before = file.lstat()\n"
        "print('before')\n"
        "require_writable({'output': file})\n"
        "write_output_file(file, '{}\\n', '--output')\n"
        "print('after')\n"
        "assert file.is_symlink() and file.lstat().st_ino == before.st_ino\n"
    )
    for mode, earlier in (("w", ""), ("a", "earlier\n")):
        (tmp_path / "out").write_text("earlier\n")
        with (tmp_path / "out").open(mode) as out:
            subprocess.run([sys.executable, "-c", script], stdout=out, check=True)
        assert (tmp_path / "out").read_text() == f"{earlier}before\n{{}}\nafter\n"


def test_a_link_in_a_checkout_leads_nowhere(tmp_path: Path) -> None:
    """A stranger's checkout may have a link to a device at the place of a result."""
    os.mkfifo(tmp_path / "device")
    named = tmp_path / "gate.json"
    named.symlink_to(tmp_path / "device")
    require_writable({"output": named})
    write_output_file(named, "{}", "--output")
    assert named.read_text() == "{}"
    assert not named.is_symlink()


def test_a_link_at_the_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    """A stranger's checkout may have a link for each process id."""
    (tmp_path / "victim").write_text("kept")
    (tmp_path / f".out.{os.getpid()}").symlink_to("victim")
    write_output_file(tmp_path / "out", "text", "--output")
    assert ((tmp_path / "out").read_text(), (tmp_path / "victim").read_text()) == ("text", "kept")


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("out")
    require_writable({"output": tmp_path / "out"})
    write_output_file(tmp_path / "out", "text", "--output")
    assert (tmp_path / "out").read_text() == "text"

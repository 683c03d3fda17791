from pathlib import Path

import pytest

from runner.adoption.new_file import has_other_content, write_file
from runner.errors import FaultwatchError


def test_a_file_is_written_with_its_folders_and_nothing_else(tmp_path: Path) -> None:
    assert not has_other_content(tmp_path, "a/b/x.sh", "text")
    write_file(tmp_path, "a/b/x.sh", "text", executable=True)
    assert (tmp_path / "a/b/x.sh").read_text() == "text"
    assert (tmp_path / "a/b/x.sh").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["x.sh"]


@pytest.mark.parametrize("content", [b"other", b"\xff\xfe"])
def test_another_file_is_noticed_and_the_same_one_is_not(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    assert has_other_content(tmp_path, "x", "text")
    (tmp_path / "x").write_text("text")
    assert not has_other_content(tmp_path, "x", "text")


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / ".github").touch()
    with pytest.raises(FaultwatchError, match=r"\.github/workflows/x\.yml cannot be written: Not a directory"):
        write_file(tmp_path, ".github/workflows/x.yml", "text")


def test_a_link_that_leads_out_of_the_work_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".github").symlink_to(tmp_path)
    with pytest.raises(FaultwatchError, match="points outside"):
        write_file(tmp_path / "tree", ".github/x", "text")
    (tmp_path / "tree" / "file").symlink_to(tmp_path / "victim")
    assert has_other_content(tmp_path / "tree", "file", "text")
    write_file(tmp_path / "tree", "file", "text")
    assert not (tmp_path / "victim").exists(), "the link is replaced, not followed"


def test_a_folder_that_is_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".github").symlink_to(".github")
    with pytest.raises(FaultwatchError, match=r"\.github/x cannot be written"):
        write_file(tmp_path, ".github/x", "text")

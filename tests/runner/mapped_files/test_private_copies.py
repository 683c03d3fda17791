"""Private copies of files that other programs map."""

from pathlib import Path

from runner.mapped_files.private_copies import PrivateCopies


def test_a_copy_has_the_permissions_of_its_file_even_if_another_file_has_the_same_content(tmp_path: Path) -> None:
    copies = PrivateCopies(tmp_path / "copies")
    for name, mode in (("data", 0o644), ("program", 0o755), ("data", 0o644)):
        (tmp_path / name).write_bytes(b"content")
        (tmp_path / name).chmod(mode)
        copy = copies.get_copy(tmp_path / name)
        assert copy is not None
        assert copy.stat().st_mode & 0o777 == mode

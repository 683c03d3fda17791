"""The digest of a built file: of all that it holds, and independent of the folder in which it was built."""

from pathlib import Path

import pytest

from runner.dependencies.digests import combine_digests, hash_built_file, hash_file


def written(folder: Path, content: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "file"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    ("content", "other", "equal"),
    [
        (b"made in %s.", b"made in %s.", True),
        (b"a", b"b", False),
        (b"\x7fELF\x02\x01" + bytes(64) + b"payload 300", b"\x7fELF\x02\x01" + bytes(64) + b"payload 900", False),
        (b"%s %s %s", b"%s" * 12, False),
        (b"%s", b"", False),
        (b"%s" + bytes(99), bytes(99) + b"%s", False),
        (b"x" * 19 + b"19y", b"x" * 19 + b"%sy2", False),
        (b"%s", bytes(8) + b"%s" + bytes(8), False),
    ],
)
def test_only_the_path_of_the_folder_may_differ(content: bytes, other: bytes, equal: bool, tmp_path: Path) -> None:
    folders = tmp_path / "tree-one", tmp_path / "tree-two"
    texts = (text.replace(b"%s", str(folder).encode()) for text, folder in zip((content, other), folders, strict=True))
    files = [written(folder, text) for folder, text in zip(folders, texts, strict=True)]
    digests = {hash_built_file(file, folder) for file, folder in zip(files, folders, strict=True)}
    assert "" not in digests
    assert (len(digests) == 1) is equal


def test_a_file_of_the_host_is_compared_as_it_is(tmp_path: Path) -> None:
    assert hash_file(written(tmp_path, b"text")) != hash_file(written(tmp_path, b"other"))
    assert hash_file(tmp_path / "absent") == ""


def test_the_digest_of_a_link_is_empty(tmp_path: Path) -> None:
    file = written(tmp_path, b"text")
    (tmp_path / "link").symlink_to("file")
    assert hash_built_file(file, tmp_path)
    assert hash_built_file(tmp_path / "link", tmp_path) == ""


def test_a_combination_is_unknown_where_a_part_is() -> None:
    assert combine_digests([("a", "1"), ("b", "")]) == ""
    assert combine_digests([("a", "1"), ("b", "2")]) == combine_digests([("b", "2"), ("a", "1")]) != ""


def test_a_link_to_itself_in_place_of_a_built_file_has_no_digest(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    (tmp_path / "folder").symlink_to("folder")
    assert hash_built_file(tmp_path / "link", tmp_path) == ""
    assert hash_built_file(tmp_path / "folder" / "file", tmp_path) == ""

"""The steps that a comment suggests."""

from service.forges.comment_next_steps import _build_code_block


def test_commands_of_many_bytes_are_whole() -> None:
    commands = [f"faultwatch measure größe/{'ä' * 900}{number}" for number in range(3)]
    block = _build_code_block("To measure again", commands)
    assert all(command in block.splitlines() for command in commands)

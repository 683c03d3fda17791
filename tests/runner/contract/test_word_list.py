import pytest

from runner.contract.word_list import join_first_words


@pytest.mark.parametrize(
    ("n_words", "text"), [(0, ""), (1, "a"), (2, "a and b"), (3, "a, b and 1 more"), (1500, "a, b and 1,498 more")]
)
def test_only_the_first_words_are_listed_and_the_others_counted(n_words: int, text: str) -> None:
    words = ["a", "b", *(["c"] * 1498)]
    assert join_first_words(words[:n_words], 2) == text

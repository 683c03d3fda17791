"""Names of functions in tables: what tells two methods of one template apart is never cut off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.function_names import MAX_NAME_CHARACTERS, get_qualified_name, shorten_name

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
VECTOR = f"std::vector<{STRING}, std::allocator<{STRING} > >"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memcpy", "memcpy"),
        (f"{VECTOR}::_M_realloc_insert", "std::vector<…>::_M_realloc_insert"),
        (
            f"{VECTOR}::_M_realloc_insert<{STRING} const&>({VECTOR}::iterator)",
            "std::vector<…>::_M_realloc_insert<…>(…)",
        ),
        (
            "snappy::SnappyDecompressor::DecompressAllTags<snappy::SnappyArrayWriter>(snappy::SnappyArrayWriter*)",
            "snappy::SnappyDecompressor::DecompressAllTags<…>(…)",
        ),
        (f"snappy::(anonymous namespace)::Fill({STRING}*, int)", "snappy::(anonymous namespace)::Fill(…)"),
        (f"std::map<{STRING}, int>::operator[]({STRING} const&)", "std::map<…>::operator[](…)"),
        (
            f"parse(std::function<int ({STRING})>, int)::{{lambda(int)#1}}::operator()(int) const",
            "parse(…)::{lambda(…)#1}::operator()(…) const",
        ),
        (f"std::operator<< <{STRING}>(std::ostream&, {STRING} const&)", "std::operator<< <…>(…)"),
        ("<alloc::vec::Vec<T,A> as core::iter::traits::collect::Extend<&T>>::extend", "<…>::extend"),
        (
            "github.com/tidwall/btree.NewBTreeGOptions[go.shape.struct { Key uint64; Value uint64 }]",
            "github.com/tidwall/btree.NewBTreeGOptions[…]",
        ),
        (
            "github.com/tidwall/btree.(*BTreeG[go.shape.struct { Key uint64; Value uint64 }]).nodeSet",
            "github.com/tidwall/btree.(*BTreeG[…]).nodeSet",
        ),
        ("github.com/yuin/goldmark/extension/ast/deeply/nested.(*parser).parseBlocks", None),
    ],
)
def test_types_are_left_out_before_the_method(name: str, said: str | None) -> None:
    short = shorten_name(name)
    assert len(short) <= MAX_NAME_CHARACTERS
    if said is None:
        assert short.endswith(name[-25:])
    else:
        assert short == said


@given(st.text(alphabet="ab:<>()[] ,*&~.-operator", max_size=200), st.integers(10, 80))
def test_a_name_of_a_stranger_is_never_longer_and_a_short_one_stays(name: str, max_characters: int) -> None:
    short = shorten_name(name, max_characters)
    assert len(short) <= max_characters
    assert short == name or len(name) > max_characters


def test_a_name_with_thousands_of_levels_is_shortened_as_quickly_as_any() -> None:
    name = "f" + "<" * 100_000
    assert shorten_name(name) == "f" + "<" * 58 + "…"


@pytest.mark.parametrize(
    ("name", "qualified_name"),
    [
        ("main", "main"),
        ("bool std::operator< <char, std::less>(x)", "std::operator<"),
        ("std::vector<int> a::f<std::less<int>>(int)", "a::f"),
        ("std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>::_M_release()", "std::_Sp_counted_base::_M_release"),
        ("(anonymous namespace)::f(int, char*)", "f"),
    ],
)
def test_types_are_no_part_of_a_qualified_name(name: str, qualified_name: str) -> None:
    assert get_qualified_name(name) == qualified_name

"""The allocators that can be preloaded: their libraries, by name."""

from collections.abc import Mapping

ALLOCATOR_LIBRARIES: Mapping[str, str] = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}

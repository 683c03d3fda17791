"""Every module can be imported first: none works only because another was imported before it."""

from collections.abc import Iterator
from graphlib import TopologicalSorter

import grimp


def _with_packages(name: str) -> Iterator[str]:
    """Yield a module and the packages that Python imports before it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def test_no_modules_import_each_other() -> None:
    graph = grimp.build_graph("runner", "service", exclude_type_checking_imports=True, cache_dir=None)
    assert len(graph.modules) > 300
    TopologicalSorter(
        {
            name: {
                package
                for imported in graph.find_modules_directly_imported_by(name)
                for package in _with_packages(imported)
                if package not in _with_packages(name)
            }
            for name in graph.modules
        }
    ).prepare()

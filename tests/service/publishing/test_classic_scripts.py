"""Modules are joined into one script that does the same, or are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.publishing.classic_scripts import UnknownModuleSyntaxError, join_modules

STATIC = Path(__file__).parents[3] / "service" / "web" / "static"


def join(**modules: str) -> str:
    return join_modules("main.js", lambda file: modules[file.removesuffix(".js")])


def test_what_a_module_imports_comes_before_it() -> None:
    joined = join(main='import { b as c } from "./other.js";\nc();', other="export function b() {}\n")
    assert joined.index("function b()") < joined.index("c();")
    assert "const {b: c}" in joined.replace("{ ", "{").replace(" }", "}")
    assert "import" not in joined
    assert "export" not in joined


def test_a_module_that_two_others_import_is_there_once() -> None:
    one, other = (
        'import { x } from "./shared.js";\nexport const one = x;',
        'import { x } from "./shared.js";\nexport const other = x;',
    )
    main = 'import { one } from "./one.js";\nimport { other } from "./other.js";\nalert(one, other);'
    assert join(main=main, one=one, other=other, shared="export const x = 1;").count("x = 1;") == 1


@pytest.mark.parametrize(
    "source", ['import x from "./other.js";', "export default 1;", 'export * from "./other.js";', "export let a;"]
)
def test_what_cannot_be_joined_is_refused(source: str) -> None:
    with pytest.raises(UnknownModuleSyntaxError, match=r"main\.js: "):
        join(main=source, other="")


def test_modules_that_import_each_other_are_refused() -> None:
    with pytest.raises(UnknownModuleSyntaxError, match="imports itself"):
        join(main='import { b } from "./other.js";', other='import { a } from "./main.js";\nexport const b = 1;')


@pytest.mark.parametrize("file", sorted(str(file.relative_to(STATIC)) for file in STATIC.rglob("*.js")))
def test_all_scripts_of_the_pages_can_be_joined(file: str) -> None:
    assert join_modules(file, lambda name: (STATIC / name).read_text()).endswith("})();\n")

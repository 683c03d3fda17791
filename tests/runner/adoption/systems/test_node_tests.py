import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from runner.adoption.systems import node
from runner.adoption.systems.node_tests import find_test_run
from tests.runner.adoption.listings import listing


@pytest.mark.parametrize(
    ("test", "command"),
    [
        ("mocha", "node --single-threaded --predictable node_modules/.bin/mocha"),
        (
            "eslint . && nyc --reporter=lcov mocha -R spec",
            "node --single-threaded --predictable node_modules/.bin/mocha -R spec",
        ),
        (
            "NODE_ENV=test ./node_modules/.bin/tape 'test/**/*.js'",
            'node --single-threaded --predictable node_modules/.bin/tape "test/**/*.js"',
        ),
        ("istanbul cover _mocha -- -t 5000", "node --single-threaded --predictable node_modules/.bin/_mocha -t 5000"),
        ("jest --coverage", "node --single-threaded --predictable node_modules/.bin/jest --runInBand --coverage"),
        ("node test/test.js --fast", "node --single-threaded --predictable test/test.js --fast"),
        ("node build.js && mocha", "node --single-threaded --predictable node_modules/.bin/mocha"),
        ("node scripts/clean.js; node test.js", "node --single-threaded --predictable test.js"),
        ("node run.js && node report.js", "node --single-threaded --predictable run.js"),
        ("CI=1 node -r esm test.js --fast", "node --single-threaded --predictable -r esm test.js --fast"),
        (
            "node --experimental-vm-modules node_modules/jest/bin/jest.js unit",
            "node --single-threaded --predictable --experimental-vm-modules node_modules/jest/bin/jest.js --runInBand "
            "unit",
        ),
        (
            "npm install mocha && echo jest && yarn add tape && tape a.js",
            "node --single-threaded --predictable node_modules/.bin/tape a.js",
        ),
        ("npm run lint && npm run unit", "node --single-threaded --predictable node_modules/.bin/uvu tests"),
    ],
)
def test_the_tests_of_a_package_run_without_npm(test: str, command: str) -> None:
    run = find_test_run({"lint": "eslint .", "unit": "uvu tests", "test": test})
    assert run
    assert run.command == command
    assert run.is_test
    assert run.may_do_nothing


@pytest.mark.parametrize(
    "test",
    [
        *("", "vitest run", "mocha $FILES", "mocha 'a", "npm test", "echo no test", "echo jest", "npm install mocha"),
        *("eslint test/mocha", "node", "node --test", "node --test tests/a.js", "node -e 1", "node -r esm"),
    ],
)
def test_tests_in_unknown_forms_are_not_proposed(test: str) -> None:
    assert find_test_run({"test": test}) is None


def test_a_library_is_measured_by_its_tests_if_its_module_does_nothing() -> None:
    package = {"main": "index.js", "scripts": {"test": "mocha"}, "devDependencies": {"mocha": "^10"}}
    module, tests = node.propose(listing({"package.json": json.dumps(package)}))
    assert (module.command, module.builds_tests) == ("", False)
    assert tests.command.startswith("sh -c 'npm install --prefer-offline --no-audit --no-fund || ")
    assert [run.command for run in tests.runs] == ["node --single-threaded --predictable node_modules/.bin/mocha"]
    assert tests.builds_tests


def test_a_package_without_a_module_has_its_tests() -> None:
    (tests,) = node.propose(listing({"package.json": json.dumps({"scripts": {"test": "node test.js"}})}))
    assert [run.command for run in tests.runs] == ["node --single-threaded --predictable test.js"]


def test_the_build_script_is_no_test_although_the_test_script_runs_it() -> None:
    scripts = {"build": "node support/bundle.js", "test": "npm run build && npm run unit", "unit": "node --test"}
    assert node.propose(listing({"package.json": json.dumps({"scripts": scripts})})) == []
    _, tests = node.propose(
        listing({"package.json": json.dumps({"main": "x.js", "scripts": {**scripts, "unit": "mocha"}})})
    )
    assert [run.program for run in tests.runs] == ["node_modules/.bin/mocha"]


def test_scripts_that_start_each_other_hundreds_of_times_are_read_once() -> None:
    scripts = {name: ";".join([f"npm run {other}"] * 500) for name, other in (("test", "a"), ("a", "b"), ("b", "c"))}
    assert find_test_run({**scripts, "c": "echo"}) is None
    run = find_test_run({**scripts, "c": "mocha"})
    assert run
    assert run.program == "node_modules/.bin/mocha"


def test_without_a_lock_file_packages_are_installed_from_a_cache_that_is_only_readable(tmp_path: Path) -> None:
    cache, tree, tools = (tmp_path / name for name in ("cache", "tree", "tools"))
    for file in (cache / "_cacache/index-v5/entry", cache / "_cacache/content-v2/package", tools / "npm", tree / "x"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    # A stand-in for npm: it needs an index to which it can write.
    script = (
        "#!/bin/sh\n[ $1 = ci ] && exit 0\n[ $3 = .npm ] || exit 1\n"
        "touch .npm/_cacache/index-v5/new && cat .npm/_cacache/index-v5/entry .npm/_cacache/content-v2/package\n"
    )
    (tools / "npm").write_text(script)
    (tools / "npm").chmod(0o755)
    package = json.dumps({"bin": "x.js", "dependencies": {"d": "1"}})
    (build,) = node.propose(listing({"package.json": package}))
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "npm_config_cache": str(cache)}
    subprocess.run(shlex.split(build.command), cwd=tree, env=environment, check=True)
    assert not (cache / "_cacache/index-v5/new").exists()
    (build,) = node.propose(listing({"package.json": package, "package-lock.json": ""}))
    assert build.command == "npm ci --omit=dev --prefer-offline --no-audit --no-fund", "it needs no index"

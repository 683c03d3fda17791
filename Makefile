# `make run` and `make test` install what they need; `make help` lists the other targets.
#
# Stamp files inside the installed folders mark finished steps, so that removing .venv or node_modules is enough to
# install it again.

# Container images often disable bytecode; each start of the service would then compile every module again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON = .venv/bin/python
# The lock files are complete. pip must not resolve them again: older ones want a newer pydantic than is locked as soon
# as there is one, because a package names it with an extra.
pip-of = $(1)/bin/python -m pip --disable-pip-version-check --no-input --quiet
PIP = $(call pip-of,.venv)
UV = uv
LOCK = $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-header --no-annotate --quiet

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z0-9%-]*\):.*## /\1\t/p' Makefile | expand -t 22

.PHONY: run
run: system .venv/.run ## Measure the demo history and serve it; FAULTWATCH_PORT, FAULTWATCH_HOME
	@exec .venv/bin/faultwatch demo --serve

# Each file is one process's; they are given out in the order of tests/conftest.py.
SIDE_BY_SIDE = --numprocesses 4 --dist loadfile --no-loadscope-reorder

# Runs tests beside the checks of style and types; both must pass.
beside-lint = $(MAKE) --no-print-directory lint & checks=$$!; $(1); tests=$$?; wait $$checks && exit $$tests

# Packages are downloaded and unpacked by turns: two installations at a time use the network and both processors.
.PHONY: test
test: system-tests ## Check everything: style, types, imports, tests
	@$(MAKE) --no-print-directory --jobs 2 .venv/.dev .venv-hosts/.installed node_modules/.installed
	@$(call beside-lint,$(PYTHON) -m pytest $(SIDE_BY_SIDE))

# The tests of these folders decide, parse and write: none starts a service, a browser or a build.
QUICK = tests/setup tests/docs $(addprefix tests/service/,rules config text lab nightly/rules releases) \
	$(addprefix tests/runner/,adoption contract dependencies doctor environment gate_files host importing nightly perf \
	process_state profile schemas system workload)

.PHONY: quick
quick: .venv/.dev ## Check style and types, and run the tests that start no service, browser or build: two minutes
	@$(call beside-lint,$(PYTHON) -m pytest --quiet --numprocesses 2 --dist loadfile $(wildcard $(QUICK)))

.PHONY: test-workflows
test-workflows: system-tests .venv/.dev .venv/.actionlint ## Lint the workflows and run them with act
	@$(PYTHON) -m pytest -m "workflows or not workflows" tests/workflows

# Where the words are checked that setup/words.txt replaces.
PROSE = runner service templates docs tests bench ansible .github README.md CONTRIBUTING.md

.PHONY: lint
lint: .venv/.dev ## Check style, words, types and import rules
	@.venv/bin/ruff check .
	@git ls-files -z $(PROSE) | xargs -0 .venv/bin/codespell
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

.PHONY: test-github
test-github: system-tests .venv/.dev tests/github/node_modules/.installed ## Test from a pull request to its comment, with an emulated GitHub
	@FAULTWATCH_TEST_GITHUB=1 $(PYTHON) -m pytest -m github tests/service/forges/github

.PHONY: test-openid
test-openid: system-tests .venv/.dev tests/openid/node_modules/.installed ## Test that people sign in at a certified identity provider, in a browser
	@FAULTWATCH_TEST_OPENID=1 $(PYTHON) -m pytest tests/openid

.PHONY: test-client
test-client: system-tests .venv/.dev ## Generate a client of the API and use it with a running service
	@$(PYTHON) -m pytest -m client tests/client

.PHONY: test-tasks
test-tasks: system-tests .venv/.dev ## Test ten tasks in a browser, on an imported history of 29,000 runs and one with merges (minutes)
	@FAULTWATCH_TEST_TASKS=1 $(PYTHON) -m pytest --timeout 1200 tests/tasks

.PHONY: test-proofs
test-proofs: system-tests .venv/.dev ## Test that a change of 2 % among ten commits of a noisy program is proven at its commit (a minute or two)
	@FAULTWATCH_TEST_PROOFS=1 $(PYTHON) -m pytest tests/runner/campaigns/test_proving.py

.PHONY: test-thorough
test-thorough: system-tests .venv/.dev .venv-hosts/.installed ## Test what make test leaves out: long runs end to end, and many more random inputs (minutes)
	@FAULTWATCH_TEST_THOROUGH=1 $(PYTHON) -m pytest -m "thorough or random" $(SIDE_BY_SIDE) --timeout 1200

# What make test leaves to make test-thorough is part of the targets that run a whole folder.
ALSO_THOROUGH = -m "thorough or not thorough"

.PHONY: test-kills
test-kills: system-tests .venv/.dev ## Test a bisect whose runner and service are killed at every step
	@FAULTWATCH_TEST_KILLS=1 $(PYTHON) -m pytest $(ALSO_THOROUGH) tests/runner/jobs

.PHONY: test-operations
test-operations: system-tests system-operations .venv/.dev ## Test PostgreSQL's failover, poolers, restore to a point in time, and two versions side by side (minutes)
	@FAULTWATCH_TEST_OPERATIONS=1 $(PYTHON) -m pytest --timeout 900 tests/operations

.PHONY: test-busy
test-busy: system-tests .venv/.dev ## Test three times that what measures is right on a machine that is busy with other work (half an hour)
	@for round in 1 2 3; do FAULTWATCH_TEST_BUSY=1 $(PYTHON) -m pytest --timeout 900 $(ALSO_THOROUGH) \
		tests/runner/canary tests/runner/execution tests/runner/host tests/runner/mapped_files tests/runner/measuring \
		tests/runner/perf tests/runner/process_state tests/workloads || exit 1; done

.PHONY: test-lab
test-lab: system-tests .venv/.dev ## Order cells of a settings lab and a remedy in a browser, and measure them here (minutes)
	@FAULTWATCH_TEST_LAB=1 $(PYTHON) -m pytest tests/e2e/test_lab.py tests/e2e/test_remedy.py

.PHONY: test-narrowing
test-narrowing: system-tests .venv/.dev ## Let the service narrow an open range down by itself, on this host
	@FAULTWATCH_TEST_NARROWING=1 $(PYTHON) -m pytest tests/e2e/test_narrowing.py

.PHONY: wheel
wheel: .venv/.run ## Build the wheels into dist/, without a network
	@rm -rf dist
	@$(PYTHON) -m pip --disable-pip-version-check wheel --quiet --no-build-isolation --no-deps --no-index --wheel-dir dist \
		. ./pyperf-hook
	@ls dist/*.whl

.PHONY: image
image: wheel ## Build the service's container image; ENGINE=docker, BASE=, IMAGE=, IMAGE_OPTIONS=
	$(or $(ENGINE),podman) build $(if $(filter docker,$(ENGINE)),,--format docker) $(if $(BASE),--build-arg BASE=$(BASE)) \
		$(IMAGE_OPTIONS) --file Containerfile --tag $(or $(IMAGE),faultwatch:latest) .

.PHONY: docs
docs: .venv/.dev ## Build the documentation as a site into build/docs/html; a broken link is an error
	@$(PYTHON) -m docs.site

.PHONY: test-docs
test-docs: system-tests .venv/.dev ## Test the site in a browser, and run the code blocks of the documentation
	@FAULTWATCH_TEST_DOCS=1 $(PYTHON) -m pytest --numprocesses 3 --dist loadfile tests/docs

.PHONY: test-wheel
test-wheel: system-tests .venv/.dev ## Test the installed wheel: its demo, its counts, its packages
	@FAULTWATCH_TEST_WHEEL=1 $(PYTHON) -m pytest tests/wheel

.PHONY: test-image
test-image: system-tests system-image .venv/.dev ## Build the container image on a base of its own, and run it
	@FAULTWATCH_TEST_IMAGE=1 $(PYTHON) -m pytest --timeout 900 tests/image

.PHONY: test-projects
test-projects: system-projects .venv/.dev ## Measure small projects of all kinds of build systems (as root; half an hour)
	@FAULTWATCH_TEST_PROJECTS=1 $(PYTHON) -m pytest $(ALSO_THOROUGH) tests/projects

.PHONY: test-fresh
test-fresh: system-tests system-fresh .venv/.dev ## Adopt projects in fresh userlands of Debian and Ubuntu by the documents alone (as root; half an hour)
	@FAULTWATCH_TEST_FRESH=1 $(PYTHON) -m pytest --capture no tests/fresh

.PHONY: test-hostile
test-hostile: system-tests .venv/.dev ## Attack the sandbox, the gate and git with hostile repositories (as root)
	@FAULTWATCH_TEST_HOSTILE=1 $(PYTHON) -m pytest --numprocesses 2 $(ALSO_THOROUGH) tests/hostile

.PHONY: hosts
hosts: .venv-hosts/.installed ## Install Ansible, which sets up the hosts: see docs/how-to/hosts.md

.PHONY: test-roles
test-roles: system-hosts .venv/.dev .venv-hosts/.installed ## Set up hosts in containers that boot systemd (as root; ten minutes)
	@$(PYTHON) -m pytest -m hosts --timeout 0 tests/ansible

.PHONY: test-hosts
test-hosts: system-hosts .venv/.dev .venv-hosts/.installed ## Set up emulated machines and measure there (as root; an hour)
	@$(PYTHON) -m pytest -m hosts --timeout 0 --capture no tests/hosts

.PHONY: test-aarch64
test-aarch64: system-aarch64 .venv/.dev ## Measure on emulated aarch64 with pages of 4 and 64 KiB (as root; half an hour, the first time an hour more)
	@FAULTWATCH_TEST_AARCH64=1 $(PYTHON) -m pytest --timeout 0 tests/aarch64

.PHONY: test-matrix
test-matrix: system-tests system-hosts system-aarch64 .venv/.dev .venv-hosts/.installed ## Do nightly runs on five emulated hosts: three kernels, two page sizes (as root; half an hour, longer the first time)
	@FAULTWATCH_TEST_MATRIX=1 $(PYTHON) -m pytest --timeout 0 --capture no tests/matrix

.PHONY: fuzz-doors
fuzz-doors: system-tests .venv/.dev ## Send a million hostile inputs to every public door; INPUTS=number
	@$(PYTHON) -m bench.fuzz_doors --inputs $(or $(INPUTS),1000000)

.PHONY: peers
peers: .venv-bench/.installed ## Install the detectors that bench-detection compares with

bench-detection: .venv/.run ## Compare the detector with others
	@-$(MAKE) --no-print-directory peers
	@$(PYTHON) -m bench.detection

bench-bisect-history: system-tests .venv/.dev ## Find a regression planted in a clone of zlib: REPO=path
	@$(PYTHON) -m bench.bisect_history $(REPO)

bench-history: system-tests .venv/.dev ## Time histories and a bisect: REPO=path WORKLOAD=path RANGE=A..B BISECT=A..B PARTS=a,b
	@$(PYTHON) -m bench.history $(REPO) $(WORKLOAD) $(RANGE) $(if $(BISECT),--bisect $(BISECT)) \
		$(if $(PARTS),--parts $(PARTS))

# Benchmarks of which the usual target does a part.
FULL_BENCHMARKS = attached attached-troubles explained-gates gate identical-bytes one-host overhead proven-histories \
	sandbox scale servers store

$(FULL_BENCHMARKS:%=bench-%-full): bench-%-full: system-tests .venv/.dev ## Run all of a benchmark, which can take hours
	@$(PYTHON) -m bench.$(subst -,_,$*) --full

bench-%: system-tests .venv/.dev ## Run the benchmark bench/NAME.py: make bench-NAME; some do a part, and make bench-NAME-full all
	@$(PYTHON) -m bench.$(subst -,_,$*)

.PHONY: findings
findings: system-tests .venv/.dev ## Repeat the history of a known project and compare its drifts: PROJECT=lua REPO=path-or-address
	@$(PYTHON) -m findings $(or $(PROJECT),$(error PROJECT=name, a folder of findings/)) $(REPO)

.PHONY: programs
programs: system-tests system-programs .venv/.dev ## Measure a real program of a field report and let its cause be named (minutes): PROGRAM=numpy
	@$(PYTHON) -m findings.real_programs $(or $(PROGRAM),$(error PROGRAM=name, a folder of findings/programs/))

.PHONY: test-programs
test-programs: system-tests system-programs .venv/.dev ## Test that the causes of the real programs are named again (a quarter of an hour)
	@FAULTWATCH_TEST_PROGRAMS=1 $(PYTHON) -m pytest tests/findings/test_real_programs.py

.PHONY: screenshots
screenshots: .venv/.dev ## Take the documentation's pictures, with the demo's data
	@home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && export FAULTWATCH_HOME="$$home" && \
		.venv/bin/faultwatch demo && $(PYTHON) -m tests.e2e.screenshots && $(PYTHON) -m tests.e2e.comment_picture && \
		$(PYTHON) -m tests.e2e.map_picture

.PHONY: schemas
schemas: .venv/.run ## Generate the JSON Schemas of workload.toml and matrix.toml
	@$(PYTHON) -m runner.schemas.generate

.PHONY: vendor
vendor: .venv/.run node_modules/.installed ## Copy what the pages need from the packages of package-lock.json into the tree
	@$(PYTHON) setup/vendor_packages.py

.PHONY: lock
lock: ## Regenerate the lock files (needs uv and npm)
	$(LOCK) --extra service --extra build --output-file requirements.txt
	$(LOCK) --extra service --extra build --extra dev --constraints requirements.txt --output-file requirements-dev.txt
	$(LOCK) --extra build --constraints requirements.txt --output-file requirements-runner.txt
	$(LOCK) --extra hosts --output-file requirements-hosts.txt
	$(LOCK) --extra bench --output-file requirements-bench.txt
	npm install --package-lock-only --ignore-scripts

.PHONY: clean
clean: ## Remove everything installed and built here; measurements stay
	rm -rf .venv .venv-bench .venv-hosts node_modules build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: system system-tests system-operations system-projects system-programs system-hosts system-aarch64 system-image system-fresh
system:
	@setup/system-packages
system-tests:
	@setup/system-packages tests
system-operations:
	@setup/system-packages operations
system-projects:
	@setup/system-packages projects
system-programs:
	@setup/system-packages programs
system-hosts:
	@setup/system-packages hosts
system-aarch64:
	@setup/system-packages aarch64
system-image:
	@setup/system-packages image
system-fresh:
	@setup/system-packages fresh

# Order-only: with several make jobs, nothing is installed before its tools.
.venv/bin/pip: | system
	@python=$$(setup/find-python) && echo "$$python -m venv .venv" && "$$python" -m venv .venv

.venv/.run: requirements.txt pyproject.toml | .venv/bin/pip
	@echo "installing the packages of requirements.txt into .venv"
	@$(PIP) install --no-deps --require-hashes --requirement requirements.txt
	@$(PIP) install --no-build-isolation --no-deps --editable . --editable pyperf-hook
	@touch $@

# uv installs the packages of the tests in a fifth of pip's time. Where only pip knows the index, pip installs them.
.venv/bin/uv: requirements-dev.txt | .venv/bin/pip
	@sed -n '/^uv==/,/[^\\]$$/p' $< >.venv/uv.txt && $(PIP) install --no-deps --require-hashes --requirement .venv/uv.txt
	@touch $@

# The packages of a lock file, for a virtual environment.
install-packages = .venv/bin/uv pip install --quiet --no-cache --python $(2)/bin/python \
	--no-deps --require-hashes --requirement $(1) \
	|| $(call pip-of,$(2)) install --no-deps --require-hashes --requirement $(1)

# requirements-dev.txt contains everything in requirements.txt, at the same versions.
.venv/.dev: requirements.txt requirements-dev.txt pyproject.toml | .venv/bin/uv
	@echo "installing the packages of requirements-dev.txt into .venv"
	@$(call install-packages,requirements-dev.txt,.venv)
	@$(PIP) install --no-build-isolation --no-deps --editable . --editable pyperf-hook
	@touch .venv/.run $@

# The other detectors require another numpy version than the service.
.venv-bench/.installed: requirements-bench.txt | .venv/bin/uv
	@"$$(setup/find-python)" -m venv .venv-bench
	@$(call install-packages,$<,.venv-bench)
	@touch $@

# actionlint is compiled from source if Go is installed.
.venv/.actionlint: | .venv/.dev
	@! command -v go >/dev/null || GOBIN="$(CURDIR)/.venv/bin" \
		go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	@touch $@

.venv-hosts/.installed: requirements-hosts.txt | .venv/bin/uv
	@"$$(setup/find-python)" -m venv .venv-hosts
	@$(call install-packages,$<,.venv-hosts)
	@touch $@

node_modules/.installed: package.json package-lock.json | system-tests
	npm ci --ignore-scripts --no-update-notifier --no-fund --no-audit
	@touch $@

tests/github/node_modules/.installed tests/openid/node_modules/.installed: tests/%/node_modules/.installed: \
		tests/%/package.json tests/%/package-lock.json | system-tests
	cd tests/$* && npm ci --ignore-scripts
	@touch $@

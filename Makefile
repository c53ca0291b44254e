# What can be done with this checkout. `make` alone lists it.
#
# Each target works from a clean clone with git, make and Python 3.11 or newer. Every path here is relative:
# a checkout may lie under a folder with spaces in its name. PYTHON=... names the Python to use; ARGS=... is
# passed on to what a target runs.

SHELL = /bin/sh
.DEFAULT_GOAL = help
.SUFFIXES:

PYTHON =
ARGS =
COMPONENT = ways-mcp
LEVEL =

VENV = .venv/bin/python
# In a recipe: $(RECIPE) NAME runs build/NAME.py with a fit Python, or says what is missing.
RECIPE = python=$$(PYTHON='$(PYTHON)' sh build/find-python) && "$$python" -E -s -m
RECIPE_VENV = python=$$(PYTHON='$(PYTHON)' sh build/find-python venv) && "$$python" -E -s -m

.PHONY: help install uninstall ways-mcp zipapp frozen frozen-check verifier cut-release release-rehearsal check test e2e bench fuzz soak demo screenshot docs generate format dev lock clean

help: ## list what can be done
	@echo 'Use:  make TARGET'
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

install: ## install ways, attend and ways-mcp for you, and register the server with Claude Code
	@$(RECIPE_VENV) build.install install $(ARGS)

uninstall: ## take away what `make install` made; your messages and settings stay
	@$(RECIPE) build.install uninstall $(ARGS)

ways-mcp: ## build the server from this checkout as bin/ways-mcp
	@$(RECIPE) build.install ways-mcp $(ARGS)

zipapp: ## build dist/ways-mcp.pyz: one file, any Python from 3.11 on, nothing else
	@$(RECIPE) build.zipapp $(ARGS)

frozen: ## build dist/frozen: the three commands in a folder that needs no Python (ARGS='--archive dist/release')
	@$(RECIPE_VENV) build.frozen $(ARGS)

frozen-check: ## hold dist/frozen to its promises: glibc floor, clean children, a bare root
	@$(RECIPE_VENV) build.frozen.check $(ARGS)

verifier: ## put a verifier of release signatures into your cache, for ways-mcp and ways update
	@$(RECIPE_VENV) build.release.tools sigstore $(ARGS)

cut-release: .venv/ready ## cut a version: COMPONENT=ways-mcp LEVEL=patch, minor or major (ARGS='--dry-run', '--push')
	@$(VENV) -m build.release.cut --component '$(COMPONENT)' --level '$(LEVEL)' $(ARGS)

release-rehearsal: .venv/ready ## a whole release on this machine, offline: cut, build, sign, serve, update, go back
	@$(VENV) -m build.release.rehearsal $(ARGS)

check: .venv/ready ## format, lint, types, import layers, dead code, generated files
	$(VENV) -m ruff format --check .
	$(VENV) -m ruff check .
	$(VENV) -m mypy
	.venv/bin/lint-imports
	$(VENV) -m vulture
	$(VENV) -m build.generate --check

test: .venv/ready ## run the tests (ARGS='tests/server -k ping' for some of them)
	$(VENV) -m pytest $(ARGS)

e2e: .venv/ready ways-mcp ## run the end-to-end suite on the real Claude Code client, offline
	$(VENV) -m tests.e2e $(ARGS)

bench: .venv/ready ## measure start, memory, speed and rest beside other servers
	$(VENV) -m tests.bench $(ARGS)

fuzz: .venv/ready ## hunt for inputs that break a parser (ARGS='--minutes 10 --target signals')
	$(VENV) -m tests.fuzz $(ARGS)

soak: .venv/ready ## many fake sessions in a storm, then the reckoning (ARGS='--minutes 20 --sessions 40 --seed 7')
	$(VENV) -m tests.soak $(ARGS)

demo: ## see it work in under 20 seconds, without Claude Code and without network
	@python=$$(PYTHON='$(PYTHON)' sh build/find-python) && PYTHONPATH=src "$$python" -s -m demo $(ARGS)

screenshot: .venv/ready ## write docs/demo.svg, a picture of the demo
	$(VENV) -m build.screenshot

docs: .venv/ready ## build the documentation as a site in dist/site; stops at a link that leads nowhere
	@.venv/bin/mkdocs build -q $(ARGS)
	@echo 'make docs: open dist/site/index.html'

generate: .venv/ready ## write the files that are rendered from the code
	$(VENV) -m build.generate

format: .venv/ready ## format the code and sort its imports
	$(VENV) -m ruff check --select I --fix .
	$(VENV) -m ruff format .

dev: .venv/ready ## make .venv, which tests and checks run in

.venv/ready: requirements/dev.lock build/dev.py build/environment.py
	@$(RECIPE_VENV) build.dev

lock: ## write the lock files anew from pyproject.toml (ARGS=--upgrade for newer packages)
	@$(RECIPE) build.lock $(ARGS)

clean: ## take away everything that was built here, .venv included
	rm -rf .venv bin dist .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

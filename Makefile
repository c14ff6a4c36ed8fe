# The words of this project: demo test check bench bench-peers build debug race wheel lint types clean.
# Everything is built into .venv; nothing outside the checkout is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := setup.py $(shell find mcts_core simulators router -name '*.pyx' -o -name '*.pxd')
PACKAGES := harness_router mcts_core simulators router
COMPILED := $(subst /,.,$(basename $(wildcard mcts_core/*.pyx simulators/*.pyx)))

.PHONY: demo test check bench bench-peers build debug race wheel lint types clean

demo: build  ## build, then decide: at once, and by looking ahead in three real situations
	@echo; echo "== har route: which of ten tools comes next?"
	@$(BIN)/har route --no-record --goal "Fix the failing parser test" --action "run_tests=1 failed" \
	  --observation "1 failed: test_dates, ValueError in src/parser.py:42" \
	  --tools examples/tools/coding_agent.json --explain || test $$? -eq 3
	@echo; echo "== a loop that the router owns: python examples/router_owned_loop.py"
	@$(BIN)/python examples/router_owned_loop.py
	@for graph in examples/*.json; do \
	  echo; echo "== har route-mcts $$graph"; $(BIN)/har route-mcts $$graph || exit 1; \
	done
	@echo; echo "== the same by search alone: har route-mcts examples/fix_failing_test.json --solver mcts --simulations 512"
	@$(BIN)/har route-mcts examples/fix_failing_test.json --solver mcts --simulations 512 --html build/demo.html
	@echo "   (the whole tree: build/demo.html)"
	@echo; echo "== a simulator of one's own: python examples/custom_simulator.py"
	@$(BIN)/python examples/custom_simulator.py

test: build  ## build, then pass all tests
	$(BIN)/python -m pytest --numprocesses auto

check: lint types test debug race wheel  ## all that .ci/run asks for

# An interpreter that has the peers: PEERS=... make bench; without any their rows say so.
PEERS_VENV := .venv-peers
PEERS ?= $(firstword $(wildcard $(PEERS_VENV)/bin/python) $(BIN)/python)

bench: build  ## benchmarks, peers and floors side by side
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,iqr,rounds \
	  --benchmark-sort=name
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.engine_speed --peers-python $(PEERS)

bench-peers: $(PEERS_VENV)/.installed  ## the peers that bench measures, in an environment of their own

$(PEERS_VENV)/.installed: pyproject.toml
	test -x $(PEERS_VENV)/bin/python || $(PYTHON) -m venv $(PEERS_VENV)
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["peers"], sep="\n")' > $(PEERS_VENV)/peers.txt
	$(PEERS_VENV)/bin/python -m pip install --quiet -r $(PEERS_VENV)/peers.txt
	$(PEERS_VENV)/bin/python -m pip install --quiet --no-deps LightZero gumbel-mcts
	touch $@

build: $(VENV)/.built

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11+ is needed: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "setuptools>=80" "Cython>=3.2,<4"
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	$(BIN)/python -m pip install --quiet --no-deps mctx==0.0.71  # its golden trees: JSON, no JAX
	touch $@

$(VENV)/.built: $(VENV)/.installed $(SOURCES)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint $(PACKAGES)  # it calls pycodestyle by name

types: build
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest $(COMPILED)

debug: build  ## the engine's tests with bounds checks on
	rm -rf build/debug && mkdir -p build/debug
	git ls-files -z | xargs -0 cp --parents -t build/debug
	cd build/debug && HARNESS_ROUTER_DEBUG=1 ../../$(BIN)/python setup.py --quiet build_ext --inplace
	cd build/debug && ../../$(BIN)/python -m pytest --numprocesses auto tests/mcts_core tests/simulators

LIBTSAN := $(shell gcc -print-file-name=libtsan.so 2>/dev/null)
RACE_OPTIONS := ignore_noninstrumented_modules=1 report_signal_unsafe=0 exitcode=66

race: build  ## threads on shared trees under gcc's thread sanitizer: any data race fails
ifeq ($(wildcard $(LIBTSAN)),)
	@echo "race: NOT RUN: gcc has no libtsan.so here (Debian has it in libgcc-12-dev, Fedora in libtsan)"
else
	rm -rf build/race && mkdir -p build/race
	git ls-files -z | xargs -0 cp --parents -t build/race
	cd build/race && CC=gcc HARNESS_ROUTER_SANITIZE=thread ../../$(BIN)/python setup.py --quiet \
	  build_ext --inplace
	cd build/race && gcc -O1 -g -fsanitize=thread -shared -fPIC -o race_game.so \
	  tests/mcts_core/race_game.c
	cd build/race && LD_PRELOAD=$(LIBTSAN) TSAN_OPTIONS="$(RACE_OPTIONS)" PYTHONPATH=. \
	  OPENBLAS_NUM_THREADS=1 $(shell command -v setarch >/dev/null && echo setarch -R) \
	  ../../$(BIN)/python tests/mcts_core/race_script.py ./race_game.so
endif

wheel: build  ## build the wheel, install it elsewhere, use it from another folder
	rm -rf dist build/wheel-venv && $(BIN)/python -m build --quiet --wheel
	$(PYTHON) -m venv build/wheel-venv
	build/wheel-venv/bin/python -m pip install --quiet dist/*.whl
	cd / && "$(CURDIR)/build/wheel-venv/bin/python" -I "$(CURDIR)/tests/wheel_smoke.py" "$(CURDIR)/examples"

clean:
	rm -rf build dist $(VENV) $(PEERS_VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks *.egg-info
	find $(PACKAGES) -name '*.so' -delete
	find $(PACKAGES) -name '*.c' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two commands do everything on a fresh machine with Python 3.11, git and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
OPTIONAL := .venv-optional
STRANGERS := .venv-strangers

.PHONY: demo quick slow test test-optional strangers fuzz lint pictures clean

demo: $(VENV)/installed  ## train a policy, print its rules, write a report
	$(BIN)/ifthen train PPL-X FrozenLake-8-0.3 --seed 0 --out runs/demo --overwrite

quick: $(VENV)/installed-dev  ## the tests that start no process, no browser and no study: under a minute
	IFTHEN_TEST_PROFILE=few $(BIN)/python -m pytest -n auto -m "not slow"

slow:  ## measure the tests; those that take long are listed in tests/slow.txt and left out by make quick
	$(BIN)/python -m pytest -n 0 -p tests.durations

test: lint  ## all checks and tests
	$(BIN)/python -m pytest -n auto

test-optional: $(OPTIONAL)/installed  ## tests against packages that ifthen works with but does not need
	$(OPTIONAL)/bin/python -m pytest -n 0 -rs tests/optional

strangers: $(STRANGERS)/installed  ## environments of other people's packages through all commands: about two hours
	$(STRANGERS)/bin/python benchmarks/strangers/run.py --write docs/strangers.md

fuzz: $(VENV)/installed  ## 5,000 damaged and hostile files of each kind: nothing but clear errors may come of them
	$(BIN)/python benchmarks/fuzz.py

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

pictures: demo $(VENV)/installed-dev  ## the pictures in the README and the documents
	$(BIN)/ifthen show runs/demo/model.zip --png docs/images/policy.png
	$(BIN)/ifthen explain runs/demo/model.zip --ladder --out runs/demo-explained
	$(BIN)/ifthen prune runs/demo --ladder --plot docs/images/ladder.png
	$(BIN)/python docs/screenshot.py runs/demo-explained/explain.html docs/images/explain-page.png
	$(BIN)/ifthen train PPL-DL CartPole-v1 --epochs 60 --seed 0 --out runs/pole --overwrite
	$(BIN)/ifthen explain runs/pole --out runs/pole-explained
	$(BIN)/python docs/screenshot.py runs/pole-explained/explain.html docs/images/explain-environment.png

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "ifthen needs Python 3.11 or later: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable '.[dev]'
	touch $@

# Of its own, as these packages are large and one of them wants an older Pillow than we test with.
$(OPTIONAL)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(OPTIONAL)
	grep -v '^pillow==' constraints.txt > $(OPTIONAL)/constraints.txt
	$(OPTIONAL)/bin/python -m pip --disable-pip-version-check install --quiet \
		--constraint $(OPTIONAL)/constraints.txt --editable '.[dev,box2d,track,video]' stable-baselines3
	touch $@

$(STRANGERS)/installed: pyproject.toml constraints.txt benchmarks/strangers/requirements.txt
	$(PYTHON) -m venv $(STRANGERS)
	$(STRANGERS)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		--editable . --requirement benchmarks/strangers/requirements.txt
	touch $@

clean:
	rm -rf $(VENV) $(OPTIONAL) $(STRANGERS) runs .mypy_cache .ruff_cache .pytest_cache .hypothesis

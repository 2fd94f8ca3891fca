# Two commands do everything on a fresh machine with Python 3.11, git and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
# The tests of a file share what they train and compile, so that one process runs them all.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
OPTIONAL := .venv-optional
STRANGERS := .venv-strangers
CUDA := .venv-cuda
RELEASE := .venv-release

# Python keeps the bytecode of files: tests start many processes, each of which would make it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs reference quick slow test suite test-optional test-cuda strangers fuzz lint pictures release clean

demo: $(VENV)/installed  ## train a policy, print its rules, write a report
	$(BIN)/ifthen train PPL-X FrozenLake-8-0.3 --seed 0 --out runs/demo --overwrite

quick: $(VENV)/installed-dev  ## the tests that start no process, no browser and no study: under a minute
	IFTHEN_TEST_PROFILE=few $(PYTEST) -m "not slow"

docs: $(VENV)/installed-docs  ## the documentation site, in site/; it needs no network, and warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

reference: $(VENV)/installed-dev  ## the pages made from the code, and what the tutorials print: under two minutes
	$(BIN)/python docs/api.py
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/diagrams.py
	$(BIN)/python docs/notebooks.py

slow:  ## measure the tests; those that take long are listed in tests/slow.txt and left out by make quick
	$(BIN)/python -m pytest -n 0 -p tests.durations

test: $(VENV)/installed-dev  ## all checks and tests, the checks beside the tests
	$(MAKE) --jobs 2 --no-print-directory lint suite

suite: $(VENV)/installed-dev
	$(PYTEST)

test-optional: $(OPTIONAL)/installed  ## tests against packages that ifthen works with but does not need
	$(OPTIONAL)/bin/python -m pytest -n 0 -rs tests/optional

test-cuda: $(CUDA)/installed  ## the kernels of the GPU, on a GPU of NVIDIA: about a minute
	$(CUDA)/bin/python -c 'from ifthen.simulate.gpu import find_device; device = find_device(); print(device); exit(isinstance(device, str))'
	$(CUDA)/bin/python -m pytest -n 0 tests/cuda

strangers: $(STRANGERS)/installed  ## environments of other people's packages through all commands: about an hour
	$(STRANGERS)/bin/python benchmarks/strangers/run.py --write docs/strangers.md

fuzz: $(VENV)/installed  ## 5,000 damaged and hostile files of each kind: nothing but clear errors may come of them
	$(BIN)/python benchmarks/fuzz.py

release: $(RELEASE)/installed  ## wheel and sdist in dist/, checked, and the wheel used in an empty folder
	.ci/release $(RELEASE)/bin/python

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# In a folder of its own, so that no run of yours is replaced and the paths in the pictures are those of the documents.
PICTURES := runs/pictures
INSIDE := cd $(PICTURES) && $(CURDIR)/$(BIN)
SHOWN := $(CURDIR)/docs/images

pictures: $(VENV)/installed-dev  ## the pictures of runs in the README and the documents: about five minutes
	rm -rf $(PICTURES) && mkdir -p $(PICTURES)
	$(INSIDE)/ifthen train PPL-X FrozenLake-8-0.3 --seed 0 --out runs/demo
	$(INSIDE)/ifthen explain runs/demo --out demo
	$(INSIDE)/python $(CURDIR)/docs/screenshot.py demo/explain.html $(SHOWN)/explain-page.png
	$(INSIDE)/ifthen train PPL-DL CartPole-v1 --epochs 60 --seed 0 --out runs/pole
	$(INSIDE)/ifthen explain runs/pole --out pole
	$(INSIDE)/python $(CURDIR)/docs/screenshot.py pole/explain.html $(SHOWN)/explain-environment.png
	$(INSIDE)/ifthen train PPL-ST FrozenLake-8-0.3 --seed 0 --out runs/lake
	$(INSIDE)/ifthen front runs/lake --plot $(SHOWN)/front-lake.png
	$(INSIDE)/ifthen train PPL-X MountainCar-v0 --seed 0 --out runs/car
	$(INSIDE)/ifthen explain runs/car --out car
	$(INSIDE)/python $(CURDIR)/docs/screenshot.py car/explain.html $(SHOWN)/front.png --front
	$(INSIDE)/ifthen train PPL-X CartPole-v1 --seed 0 --out runs/pole --overwrite
	-$(INSIDE)/ifthen stress runs/pole --require "performance>=475" --out stressed
	cp $(PICTURES)/stressed/stress.png $(SHOWN)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "ifthen needs Python 3.11 or later: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(PIP) --editable '.[docs]'
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

$(RELEASE)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		build hatchling twine
	touch $@

$(CUDA)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(CUDA)
	$(CUDA)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		--editable '.[dev,cuda]'
	touch $@

$(STRANGERS)/installed: pyproject.toml constraints.txt benchmarks/strangers/requirements.txt
	$(PYTHON) -m venv $(STRANGERS)
	$(STRANGERS)/bin/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt \
		--editable . --requirement benchmarks/strangers/requirements.txt
	touch $@

clean:
	rm -rf $(VENV) $(OPTIONAL) $(STRANGERS) $(CUDA) $(RELEASE) dist runs site .mypy_cache .ruff_cache .pytest_cache .hypothesis

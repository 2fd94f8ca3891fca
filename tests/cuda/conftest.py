"""These tests need a GPU, or Numba's simulator of one: `make test-cuda`, or `tests/simulate/test_gpu.py`."""

from ifthen.simulate.gpu import found

if isinstance(found(), str):
    collect_ignore_glob = ["test_*.py"]

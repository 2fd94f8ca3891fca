"""These tests need a GPU, or Numba's simulator of one: `make test-cuda`, or `tests/simulate/test_gpu.py`."""

from ifthen.simulate.gpu import find_device

if isinstance(find_device(), str):
    collect_ignore_glob = ["test_*.py"]

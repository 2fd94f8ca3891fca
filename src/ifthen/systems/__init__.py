"""The learners. Each system is one file; `registry.py` knows them by name."""

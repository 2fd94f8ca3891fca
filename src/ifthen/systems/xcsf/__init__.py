"""XCSF, the Michigan system that the paper calls XCS: one population of rules that predict payoffs.

Wilson, "Classifiers that approximate functions", Natural Computing 1(2), 2002; the algorithm of Butz and
Wilson, "An algorithmic description of XCS", Soft Computing 6, 2002. Read `system.py` first, then `run.py`
(a step), `update.py` (what a set learns), `ga.py` (how it searches), `population.py` (how it is kept). What
differs between tables and environments is in `on_table.py` and `on_env.py`.
"""

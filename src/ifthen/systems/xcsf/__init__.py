"""XCSF, the Michigan system that the paper calls XCS: one population of rules that predict payoffs.

Wilson, "Classifiers that approximate functions", Natural Computing 1(2), 2002; the algorithm of Butz and
Wilson, "An algorithmic description of XCS", Soft Computing 6, 2002. Read `xcsf.py` first, then
`xcsf_steps.py` (a step), `update.py` (what a set learns), `ga.py` (how it searches), `xcsf_population.py`
(how it is kept). What differs between tables and environments is in `xcsf_on_table.py` and `xcsf_on_env.py`.
"""

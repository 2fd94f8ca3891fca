"""PPL-X: learns action values first and rules second, and returns a front of lists from short to good.

The systems of the paper search blindly. Action values say where a list loses and what it should do there, so
that few episodes and few candidates suffice.

To read it, begin with `pplx.py`, the system. It leaves the work to one of two learners (`pplx_learner.py` has
what they share):
- on tables `pplx_on_table.py`: `learnt_table.py` counts transitions, `list_value.py` values lists on these
  counts, `table_lists.py` and `anneal.py` change lists, `table_search.py` finds the best one of each length.
- in environments `pplx_on_env.py`, with what comes before learning in `first_steps.py`.
  `network_learning.py` says what each epoch does, in the phases of `env_plan.py`: `scratch.py` (random
  lists), `value_learning.py` with `q_network.py` and `q_training.py` (action values), `distil_values.py`
  with `imitation_tree.py`, `fit.py` and `changes.py` (lists from values), `policy_search.py` with
  `cma_es.py` (shortening and tuning), `last_choice.py` (the last epoch). `drafts.py` has the lists that are
  worked on, `action_costs.py` says what actions cost, `bench.py` plays, `scoring.py` says how good lists
  are. `knowledge.py` keeps what is known after each epoch, with the steps that were taken in `memory.py`.
- in environments with few distinct observations, counts take the place of the network and of most playing:
  `counted_table.py` counts remembered steps, `count_learning.py` has the epochs.

Teachers take the place of learnt values: `teacher.py`, `sb3.py`. Where there is a log and no environment,
`offline_learning.py` learns values and makes lists without playing. `matrices.py` has the products that
networks and CMA-ES need.
"""

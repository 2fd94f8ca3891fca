"""Exact answers about tables: optimal values and actions, values of policies. The paper's twelve tasks."""

from ifthen.environments.frozen_lake import paper_suite as paper_suite
from ifthen.explanation.measures import best_action_map as best_action_map
from ifthen.simulate.table_simulator import optimal_performance as optimal_performance
from ifthen.simulate.table_simulator import policy_values as policy_values
from ifthen.tasks.solve import value_iteration as value_iteration

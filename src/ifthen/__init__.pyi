"""The public names of ifthen, each once with its home: editors and type checkers read them here.

`import ifthen` reads this file too, and imports a name from its home on first use.
"""

from ifthen.environments.from_table import table_task as table_task
from ifthen.environments.frozen_lake import frozen_lake as frozen_lake
from ifthen.environments.frozen_lake import paper_suite as paper_suite
from ifthen.environments.make import env_task as env_task
from ifthen.environments.make import task_by_name as task_by_name
from ifthen.environments.twins import check_twin as check_twin
from ifthen.environments.twins import register_twin as register_twin
from ifthen.errors import EngineError as EngineError
from ifthen.errors import IfthenError as IfthenError
from ifthen.errors import IfthenWarning as IfthenWarning
from ifthen.errors import ModelFileError as ModelFileError
from ifthen.errors import OutputError as OutputError
from ifthen.errors import ParameterError as ParameterError
from ifthen.errors import RuleError as RuleError
from ifthen.errors import TaskError as TaskError
from ifthen.explanation.diff import diff as diff
from ifthen.explanation.measures import BestActionMap as BestActionMap
from ifthen.explanation.measures import best_action_map as best_action_map
from ifthen.explanation.pictures.write import write_pictures as write_pictures
from ifthen.explanation.policy_diff import PolicyDiff as PolicyDiff
from ifthen.explanation.read import parse_rules as parse_rules
from ifthen.explanation.read import read_ruleset as read_ruleset
from ifthen.explanation.reading import Reading as Reading
from ifthen.explanation.reading import read_rules as read_rules
from ifthen.explanation.trace import Trace as Trace
from ifthen.explanation.trace import trace as trace
from ifthen.explanation.why import Explanation as Explanation
from ifthen.explanation.why import explain as explain
from ifthen.exports import export as export
from ifthen.pages.explain_page import explain_page as explain_page
from ifthen.rules.decision_list import DecisionList as DecisionList
from ifthen.rules.feature import Feature as Feature
from ifthen.rules.prediction_array import PredictionArrayRules as PredictionArrayRules
from ifthen.rules.ruleset import NULL_ACTION as NULL_ACTION
from ifthen.rules.ruleset import RuleSet as RuleSet
from ifthen.rules.strength import StrengthRules as StrengthRules
from ifthen.rules.term import term as term
from ifthen.runs.check import Check as Check
from ifthen.runs.check import check as check
from ifthen.runs.plot import plot as plot
from ifthen.simplify.ladder import Ladder as Ladder
from ifthen.simplify.ladder import ladder as ladder
from ifthen.simplify.prune import PruneResult as PruneResult
from ifthen.simplify.prune import prune as prune
from ifthen.simplify.shortest.lists import ShortestList as ShortestList
from ifthen.simplify.shortest.lists import shortest_decision_list as shortest_decision_list
from ifthen.simulate.evaluate import evaluate as evaluate
from ifthen.simulate.evaluate import evaluations as evaluations
from ifthen.simulate.simulator import Evaluation as Evaluation
from ifthen.simulate.table import optimal_performance as optimal_performance
from ifthen.systems.callbacks import Checkpoint as Checkpoint
from ifthen.systems.callbacks import EvaluationCallback as EvaluationCallback
from ifthen.systems.callbacks import StopAt as StopAt
from ifthen.systems.callbacks import TensorBoard as TensorBoard
from ifthen.systems.front import Front as Front
from ifthen.systems.ppl_dl import PPLDL as PPLDL
from ifthen.systems.ppl_st import PPLST as PPLST
from ifthen.systems.pplx.system import PPLX as PPLX
from ifthen.systems.registry import load as load
from ifthen.systems.system import System as System
from ifthen.systems.xcsf.system import XCSF as XCSF
from ifthen.tasks.gym_task import EnvTask as EnvTask
from ifthen.tasks.solve import Solution as Solution
from ifthen.tasks.solve import policy_values as policy_values
from ifthen.tasks.solve import value_iteration as value_iteration
from ifthen.tasks.table import TabularTask as TabularTask
from ifthen.tasks.task import Task as Task
from ifthen.tasks.twin import Twin as Twin
from ifthen.tasks.twin import twin_step as twin_step
from ifthen.verification import Verification as Verification
from ifthen.verification import verify as verify

__version__: str

"""The public names of ifthen, each once with its home: editors and type checkers read them here.

`import ifthen` reads this file too, and imports a name from its home on first use. What results are called,
errors, and what few need have modules of their own: `ifthen.results`, `ifthen.errors`, `ifthen.tables` and
`ifthen.twins`.
"""

from ifthen import errors as errors
from ifthen import results as results
from ifthen import tables as tables
from ifthen import twins as twins
from ifthen.environments.from_table import table_task as table_task
from ifthen.environments.frozen_lake import frozen_lake as frozen_lake
from ifthen.environments.make import env_task as env_task
from ifthen.environments.make import task_by_name as task_by_name
from ifthen.environments.mazes import maze as maze
from ifthen.errors import IfthenError as IfthenError
from ifthen.errors import IfthenWarning as IfthenWarning
from ifthen.explanation.behaviour import behaviour as behaviour
from ifthen.explanation.diff import diff as diff
from ifthen.explanation.read_ruleset import from_function as from_function
from ifthen.explanation.read_ruleset import from_tree as from_tree
from ifthen.explanation.read_ruleset import parse_rules as parse_rules
from ifthen.explanation.read_ruleset import read_ruleset as read_ruleset
from ifthen.explanation.reading import read_rules as read_rules
from ifthen.explanation.trace import trace as trace
from ifthen.explanation.why import explain as explain
from ifthen.exports import export as export
from ifthen.exports import export_device as export_device
from ifthen.pages.dossier import dossier as dossier
from ifthen.pages.explain_page import explain_page as explain_page
from ifthen.robustness.stress import stress as stress
from ifthen.robustness.worst_start import worst_starts as worst_starts
from ifthen.rules.decision_list import DecisionList as DecisionList
from ifthen.rules.feature import Feature as Feature
from ifthen.rules.prediction_array import PredictionArrayRules as PredictionArrayRules
from ifthen.rules.ruleset import NULL_ACTION as NULL_ACTION
from ifthen.rules.ruleset import RuleSet as RuleSet
from ifthen.rules.strength import StrengthRules as StrengthRules
from ifthen.rules.strength_sum import StrengthSumRules as StrengthSumRules
from ifthen.rules.term import term as term
from ifthen.runs.check import check as check
from ifthen.runs.distil import distil as distil
from ifthen.runs.learn_offline import learn_offline as learn_offline
from ifthen.runs.measured_front import front as front
from ifthen.runs.plot import plot as plot
from ifthen.simplify.prune import prune as prune
from ifthen.simplify.shortest.shortest_list import shortest_decision_list as shortest_decision_list
from ifthen.simulate.evaluate import evaluate as evaluate
from ifthen.systems.callbacks import Checkpoint as Checkpoint
from ifthen.systems.callbacks import EvaluationCallback as EvaluationCallback
from ifthen.systems.callbacks import StopAt as StopAt
from ifthen.systems.callbacks import TensorBoard as TensorBoard
from ifthen.systems.ppl_dl import PPLDL as PPLDL
from ifthen.systems.ppl_st import PPLST as PPLST
from ifthen.systems.pplx.pplx import PPLX as PPLX
from ifthen.systems.registry import load as load
from ifthen.systems.samuel.samuel import SAMUEL as SAMUEL
from ifthen.systems.system import System as System
from ifthen.systems.xcs import XCS as XCS
from ifthen.systems.xcsf.xcsf import XCSF as XCSF
from ifthen.systems.zcs.zcs import ZCS as ZCS
from ifthen.tasks.gym_task import EnvTask as EnvTask
from ifthen.tasks.tabular_task import TabularTask as TabularTask
from ifthen.tasks.task import Task as Task
from ifthen.tuning.tune import tune as tune
from ifthen.verification import verify as verify

__version__: str

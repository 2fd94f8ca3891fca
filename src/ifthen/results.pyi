"""What functions of ifthen return: classes to annotate with, and to look up."""

from ifthen.explanation.behaviour import Behaviour as Behaviour
from ifthen.explanation.measures import BestActionMap as BestActionMap
from ifthen.explanation.policy_diff import PolicyDiff as PolicyDiff
from ifthen.explanation.reading import Reading as Reading
from ifthen.explanation.trace import Trace as Trace
from ifthen.explanation.why import Explanation as Explanation
from ifthen.exports import DeviceExport as DeviceExport
from ifthen.pages.dossier import Dossier as Dossier
from ifthen.robustness.stress import Stress as Stress
from ifthen.robustness.worst_start import WorstStarts as WorstStarts
from ifthen.runs.check import Check as Check
from ifthen.runs.distil import DistilResult as DistilResult
from ifthen.runs.learn_offline import OfflineResult as OfflineResult
from ifthen.simplify.prune import PruneResult as PruneResult
from ifthen.simplify.shortest.shortest_list import ShortestList as ShortestList
from ifthen.simulate.simulator import Evaluation as Evaluation
from ifthen.systems.front import Front as Front
from ifthen.tasks.solve import Solution as Solution
from ifthen.tuning.tuning_result import TuneResult as TuneResult
from ifthen.verification import Verification as Verification

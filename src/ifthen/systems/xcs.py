"""XCS (Wilson 1995; Butz and Wilson 2002): XCSF whose rules predict one number each.

Conditions are boxes. Over features that are 0 or 1 they are the ternary conditions of the literature: an
interval is 0, 1, or both, which is written #. The options of the literature are parameters: the gradient
update (`gradient=True`: XCSG), tournaments (`selection="tournament"`: XCSTS, and XCSTG together) and Specify.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ifthen.environments.make import TaskLike
from ifthen.errors import ParameterError
from ifthen.systems.parameters import between, linear, logarithmic, setting
from ifthen.systems.xcsf.xcsf import XCSF
from ifthen.systems.xcsf.xcsf_parameters import MOST, XCSFParameters

if TYPE_CHECKING:
    from typing import Unpack

    from ifthen.systems.keywords import XCSKeywords


OF_LINEAR = ("delta_rls", "lambda_rls", "rls_limit", "eta")
"""Parameters of XCSF that only linear predictions use."""


class XCSParameters(XCSFParameters):
    """Parameters of XCS: those of XCSF, with the defaults that mazes are learnt with in the literature."""

    pop_limit: int = between(
        3000, 1, MOST, "N: most microclassifiers in the population.", logarithmic(400, 6400)
    )
    prediction: Literal["constant"] = setting("constant", "What a rule predicts: one number.")
    x0: float = between(1.0, 0.001, 1e6, "The constant that a rule's weight is multiplied by.")
    beta: float = between(
        0.2, 1e-6, 1, "β: learning rate of prediction, error, set size and fitness.", logarithmic(0.02, 0.5)
    )
    epsilon_0: float | None = between(  # type: ignore[assignment]  # it is filled in by the task
        None,
        1e-12,
        1e9,
        "ε0: error below which a rule counts as accurate; by default a thousandth of the largest reward.",
    )
    theta_ga: int = between(
        25, 0, 10**9, "θ_GA: steps between two GA invocations in an action set.", logarithmic(10, 200)
    )
    theta_del: int = between(20, 0, 10**9, "θ_del: experience after which unfit rules are deleted first.")
    theta_sub: int = between(20, 0, 10**9, "θ_sub: experience that a rule needs to subsume others.")
    selection: Literal["tournament", "roulette"] = setting("roulette", "How the GA selects parents.")
    tau: float = between(0.4, 0.01, 1, "τ: probability that a microclassifier enters a tournament.")
    mu: float = between(0.01, 0, 1, "μ: probability that an allele mutates.", logarithmic(0.002, 0.2))
    p_hash: float = between(
        0.3,
        0,
        1,
        "P#: probability that covering takes an integer feature's whole range, and else its value.",
        linear(0, 1),
    )
    mutation: Literal["shift", "niche"] | None = setting(  # type: ignore[assignment]  # filled in, likewise
        None,
        "niche: a condition changes between the whole range and the present value, as ternary conditions "
        "do; shift: a bound moves. By default niche where all features are integers.",
    )
    truncation: Literal["end", "bootstrap"] = setting(
        "bootstrap",
        "end: an episode that is cut at t_max counts as ended; bootstrap: its last action is credited with "
        "what would follow. In mazes most problems that explore are cut.",
    )
    epsilon: float = between(1.0, 0, 1, "ε: probability of a random action while exploring.", linear(0.05, 1))


class XCS(XCSF):
    """Evolves one population of rules that predict one payoff each; the best prediction decides.

    It takes what every `System` takes, and `XCSParameters` by name, but refuses `start`, as its rules come by
    covering, and `require`, which only rules with an order can keep.
    """

    name = "XCS"
    summary = "Evolves one population of rules that predict one payoff each: XCS, XCSG, XCSTS, Specify."
    Parameters = XCSParameters  # type: ignore[assignment]  # some are left to the task here, some are not
    parameters: XCSParameters

    if TYPE_CHECKING:

        def __init__(self, task: TaskLike, **keywords: Unpack[XCSKeywords]) -> None: ...

    def fill_parameters(self, parameters: Any) -> XCSFParameters:
        """Fill in what is left to the task, and raise for parameters that would have no effect."""
        fields = type(parameters).model_fields
        idle = [name for name in OF_LINEAR if getattr(parameters, name) != fields[name].default]
        if idle:
            raise ParameterError(
                f"{' and '.join(idle)} would have no effect: XCS predicts one number. Leave it out, or use "
                "XCSF."
            )
        return super().fill_parameters(parameters)

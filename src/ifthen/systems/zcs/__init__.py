"""ZCS, the zeroth-level classifier system: strengths from a bucket brigade, and a GA over all rules.

Wilson, "ZCS: A zeroth level classifier system", Evolutionary Computation 2(1), 1994. Parameters have his
values. His paper was not at hand: the steps are those that two implementations agree on, and docs/family.md
says what they leave open and what was chosen here. Read `zcs.py` first, then `zcs_steps.py` (a step),
`breed.py` (how rules come and go) and `zcs_population.py` (how they are kept).

A step. [M] are the rules that match, and a rule of [M] is drawn by roulette on strength S. [A] are the rules
of [M] with its action. Every rule of [A] pays the share β of its strength into a bucket, which the action set
of the step before divides among its rules, discounted by γ. Rules of [M] with other actions lose the share τ.
The rules of [A] then divide β times the reward. So a set's total strength estimates the payoff that it leads
to.

A condition leaves a feature open (# in the paper), or asks for an interval. A new interval of a feature with
two values is one value, so that over bits conditions are the paper's strings of 0, 1 and #.

Rewards must not be negative here, as strengths are shares of a roulette wheel. Where a task's least reward is
−c, every reward is raised by c, and the last one of an episode by γc/(1 − γ) besides, as if c went on for
ever: that changes no policy's rank. The least reward of an environment follows from its floor, or is given by
`least_reward`; a lower one is an error.

Random numbers come from `key` by position: problem e begins where the stream fold(key, 0) says at e, and step
t uses the stream fold(fold(key, 1), t): positions 0 and 1 choose the rule and whether the GA runs, 2 is the
table's noise, sub-streams 0 and 1 are covering and the GA. The first population uses fold(key, 2).
"""

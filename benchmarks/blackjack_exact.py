"""What lists are exactly worth in Gymnasium's Blackjack-v1, by all cards that may come.

    ifthen study run studies/pplx-blackjack.toml --out runs/pplx-blackjack
    python benchmarks/blackjack_exact.py runs/pplx-blackjack          # the lists that training handed out

Cards are drawn with replacement, the dealer stops at 17, and an ace and a ten win at once unless the dealer
has them, too (`sab=True`, Gymnasium's default). A total counts aces as 1; one of them may count 10 more.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np

import ifthen

CARDS = {card: (4 if card == 10 else 1) / 13 for card in range(1, 11)}
BUST, STOPS = 21, 17
Sticks = Callable[[int, int, bool], bool]
"""Whether to stick, given the own sum, the dealer's card and whether an ace counts 11."""


def points(total: int, ace: bool) -> tuple[int, bool]:
    """Return the points of a hand, and whether one of its aces counts 11."""
    usable = ace and total + 10 <= BUST
    return total + 10 * usable, usable


@functools.cache
def dealer_ends(total: int, ace: bool) -> dict[int, float]:
    """Return the probability of each number of points that a dealer ends with; 0 stands for more than 21."""
    own, _ = points(total, ace)
    if own >= STOPS:
        return {own if own <= BUST else 0: 1.0}
    return dealer_draws(total, ace)


@functools.cache
def dealer_draws(total: int, ace: bool) -> dict[int, float]:
    """Return the same where the dealer takes a card first."""
    ends: dict[int, float] = {}
    for card, chance in CARDS.items():
        for end, share in dealer_ends(total + card, ace or card == 1).items():
            ends[end] = ends.get(end, 0.0) + chance * share
    return ends


def value_of(sticks: Sticks | None) -> float:
    """Return the mean return of a policy; of an optimal one where None."""

    @functools.cache
    def value(total: int, ace: bool, shown: int) -> float:
        own, usable = points(total, ace)
        stick = sum(
            chance * ((own > end) - (own < end)) for end, chance in dealer_draws(shown, shown == 1).items()
        )
        if sticks is not None and sticks(own, shown, usable):
            return stick
        hit = sum(
            chance * (-1.0 if total + card > BUST else value(total + card, ace or card == 1, shown))
            for card, chance in CARDS.items()
        )
        return hit if sticks is not None else max(hit, stick)

    def from_the_deal(one: int, other: int, shown: int) -> float:
        natural = {one, other} == {1, 10} and (sticks is None or sticks(BUST, shown, True))
        if natural:
            return 1.0 - {1: CARDS[10], 10: CARDS[1]}.get(shown, 0.0)
        return value(one + other, 1 in (one, other), shown)

    return sum(
        CARDS[one] * CARDS[other] * CARDS[shown] * from_the_deal(one, other, shown)
        for one in CARDS
        for other in CARDS
        for shown in CARDS
    )


def value_of_rules(rules: ifthen.RuleSet) -> float:
    """Return the mean return of a ruleset."""

    def sticks(own: int, shown: int, usable: bool) -> bool:
        return int(rules.choose(np.array([[own, shown, usable]], dtype=np.float64))[0][0]) == 0

    return value_of(sticks)


def main() -> None:
    """Print the value of each trial's list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path)
    study, found = parser.parse_args().study, []
    models = sorted(study.glob("trials/PPL-X/Blackjack-v1/*.zip"))
    if len(models) < 2:
        parser.error(f"{study} has no models of PPL-X on Blackjack-v1: run the study, and do not pack it.")
    print(f"optimum {value_of(None):.4f}")
    for path in models:
        rules = ifthen.load(path).ruleset
        found.append(value_of_rules(rules))
        print(f"seed {path.stem}: {found[-1]:.4f}, {len(rules)} rules")
    print(f"mean {np.mean(found):.4f} ± {np.std(found, ddof=1):.4f}, worst {min(found):.4f}")


if __name__ == "__main__":
    main()

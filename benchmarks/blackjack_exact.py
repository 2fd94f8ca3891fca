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
    hand, _ = points(total, ace)
    if hand >= STOPS:
        return {hand if hand <= BUST else 0: 1.0}
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
    def value(total: int, ace: bool, dealer_card: int) -> float:
        hand, usable = points(total, ace)
        stick = sum(
            chance * ((hand > end) - (hand < end))
            for end, chance in dealer_draws(dealer_card, dealer_card == 1).items()
        )
        if sticks is not None and sticks(hand, dealer_card, usable):
            return stick
        hit = sum(
            chance * (-1.0 if total + card > BUST else value(total + card, ace or card == 1, dealer_card))
            for card, chance in CARDS.items()
        )
        return hit if sticks is not None else max(hit, stick)

    def from_the_deal(first: int, second: int, dealer_card: int) -> float:
        natural = {first, second} == {1, 10} and (sticks is None or sticks(BUST, dealer_card, True))
        if natural:
            return 1.0 - {1: CARDS[10], 10: CARDS[1]}.get(dealer_card, 0.0)
        return value(first + second, 1 in (first, second), dealer_card)

    return sum(
        CARDS[first] * CARDS[second] * CARDS[dealer_card] * from_the_deal(first, second, dealer_card)
        for first in CARDS
        for second in CARDS
        for dealer_card in CARDS
    )


def value_of_rules(rules: ifthen.RuleSet) -> float:
    """Return the mean return of a ruleset."""

    def sticks(hand: int, dealer_card: int, usable: bool) -> bool:
        return int(rules.choose(np.array([[hand, dealer_card, usable]], dtype=np.float64))[0][0]) == 0

    return value_of(sticks)


def main() -> None:
    """Print the value of each trial's list."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", type=Path)
    study, values = parser.parse_args().study, []
    models = sorted(study.glob("trials/PPL-X/Blackjack-v1/*.zip"))
    if len(models) < 2:
        parser.error(f"{study} has no models of PPL-X on Blackjack-v1: run the study, and do not pack it.")
    print(f"optimum {value_of(None):.4f}")
    for path in models:
        rules = ifthen.load(path).ruleset
        values.append(value_of_rules(rules))
        print(f"seed {path.stem}: {values[-1]:.4f}, {len(rules)} rules")
    print(f"mean {np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}, worst {min(values):.4f}")


if __name__ == "__main__":
    main()

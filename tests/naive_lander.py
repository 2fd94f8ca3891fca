"""Plain-Python oracle of the lunar lander's flight: vectors are complex numbers, x + iy, in metres.

Written from what LunarLander says of itself: 30 units to a metre, 50 steps a second, a hull of density 5 and
two legs of density 1. What its stand-in adds (a foot is the inner lower corner of a leg, a hull within a
skin's thickness of the ground touches it) is handed in.
"""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from typing import NamedTuple

UNIT, SECONDS, FALL = 1 / 30, 1 / 50, -10j
WIDTH, HEIGHT = 600 * UNIT, 400 * UNIT
HULL = [(-14 + 17j), -17 + 0j, (-17 - 10j), (17 - 10j), 17 + 0j, (14 + 17j)]
LEG = [(18 - 26j), (22 - 26j), (22 - 10j), (18 - 10j)]
"""The right leg before it is turned about the hull's origin."""


class Body(NamedTuple):
    """A rigid body: mass, height of its centre above the hull's origin, inertia about the centre."""

    mass: float
    centre: float
    inertia: float


class Flight(NamedTuple):
    """Where the hull's origin is, how fast the centre of mass moves, the angle to the left and its change."""

    place: complex
    speed: complex
    angle: float
    spin: float


def cross(a: complex, b: complex) -> float:
    """Return how much b at the end of a turns to the left."""
    return (a.conjugate() * b).imag


def moments(corners: Sequence[complex], density: float) -> tuple[float, complex, float]:
    """Return mass, mass times centre, and inertia about the origin of a polygon, corners to the left."""
    mass, weighed, inertia = 0.0, 0j, 0.0
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        triangle = density * cross(a, b) / 2
        mass += triangle
        weighed += triangle * (a + b) / 3
        inertia += triangle * (abs(a) ** 2 + abs(b) ** 2 + (a.conjugate() * b).real) / 6
    return mass, weighed, inertia


def whole_body(bend: float) -> Body:
    """Return hull and legs as one body, the legs turned outwards by an angle."""
    leg = [cmath.rect(1, bend) * corner for corner in LEG]
    other = [-corner.conjugate() for corner in reversed(leg)]
    parts = [
        moments([UNIT * c for c in corners], density)
        for corners, density in ((HULL, 5), (leg, 1), (other, 1))
    ]
    mass, weighed = sum(p[0] for p in parts), sum(p[1] for p in parts)
    centre = weighed / mass
    return Body(mass, centre.imag, sum(p[2] for p in parts) - mass * abs(centre) ** 2)


def ground_height(heights: Sequence[float], x: float) -> float:
    """Return the height below x of straight lines through points evenly apart; the outer ones go on."""
    apart = WIDTH / (len(heights) - 1)
    left = 0
    while left < len(heights) - 2 and (left + 1) * apart <= x:
        left += 1
    slope = (heights[left + 1] - heights[left]) / apart
    return heights[left] + slope * (x - left * apart)


def engine(action: int, angle: float, u: float, v: float) -> tuple[complex, complex]:
    """Return where an engine pushes, seen from the hull's origin, and its impulse.

    Args:
        action: 0 none, 1 the left one, 2 the main one, 3 the right one.
        angle: the hull's.
        u: noise in −1 … 1 along the hull, of which the main engine takes two units and the others one.
        v: noise in −1 … 1 across the hull: one unit for the main engine, three for the others.
    """
    down, left = cmath.rect(1, angle) * -1j, cmath.rect(1, angle) * -1
    if action == 2:
        nozzle = UNIT * ((4 + 2 * u) * down + v * left)
        return nozzle, -13 * nozzle
    if action in (1, 3):
        side = 1 if action == 3 else -1
        nozzle = UNIT * (u * down + (3 * v + 12 * side) * left)
        above = -down * UNIT
        return nozzle + complex(17 * above.real, 14 * above.imag), -0.6 * nozzle
    return 0j, 0j


def foot_place(leg: int, bend: float) -> complex:
    """Return where a leg's foot is on the hull's own axes; leg 0 is the right one."""
    right = UNIT * LEG[0] * cmath.rect(1, bend)
    return right if leg == 0 else -right.conjugate()


def hull_touches(heights: Sequence[float], place: complex, angle: float, skin: float) -> bool:
    """Return whether a corner of the hull is less than a skin's thickness above the ground, or below it."""
    corners = [place + UNIT * corner * cmath.rect(1, angle) for corner in HULL]
    return min(corner.imag - ground_height(heights, corner.real) for corner in corners) < skin


def fly(body: Body, now: Flight, action: int, u: float, v: float) -> Flight:
    """Take a step in the air: engine and gravity change the speeds, and these then the places."""
    centre = 1j * body.centre * cmath.rect(1, now.angle)
    where, impulse = engine(action, now.angle, u, v)
    speed = now.speed + impulse / body.mass + FALL * SECONDS
    spin = now.spin + cross(where - centre, impulse) / body.inertia
    angle = now.angle + spin * SECONDS
    place = now.place + centre + speed * SECONDS - 1j * body.centre * cmath.rect(1, angle)
    return Flight(place, speed, angle, spin)

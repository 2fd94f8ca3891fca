"""Plain-Python oracle of Evasive Maneuvers: places are complex numbers, courses are angles to the right."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import NamedTuple


class Flight(NamedTuple):
    """Place and course in degrees of plane and missile, and the missile's speed."""

    plane: complex
    course: float
    missile: complex
    aim: float
    speed: float


def direction(angle: float) -> complex:
    """Return the direction of a course; 0 is north, 90 is east."""
    return 1j * cmath.exp(-1j * math.radians(angle))


def course_of(vector: complex) -> float:
    """Return the course from −180 to 180 of a direction."""
    return -math.degrees(cmath.phase(vector / 1j)) if vector else 0.0


def reading(value: float, step: float, low: float, high: float) -> float:
    """Return the nearest of all values that a sensor can show; the upper one of two."""
    shown = [low + i * step for i in range(round((high - low) / step) + 1)]
    return min(shown, key=lambda one: (abs(one - value), -one))


def steered(aim: float, toward: complex) -> tuple[float, float]:
    """Return the missile's course after a sub-step towards something, and how many degrees it turned."""
    wanted = (course_of(toward) - aim + 180) % 360 - 180
    turned = min(max(wanted, -3.6), 3.6)
    return aim + turned, abs(turned)


def approach(place: complex, move: complex) -> float:
    """Return the least distance from the origin on a straight way, sought in ever smaller parts."""
    low, high = 0.0, 1.0
    for _ in range(100):
        third = (high - low) / 3
        if abs(place + (low + third) * move) < abs(place + (high - third) * move):
            high -= third
        else:
            low += third
    return abs(place + (low + high) / 2 * move)


def flown(flight: Flight, turn: float, plane_speed: float) -> tuple[Flight, int]:
    """Fly a second in ten parts; return where both are, and 1 if the plane is hit or 2 if it is free."""
    plane, course, missile, aim, speed = flight
    for _ in range(10):
        ahead = min(abs(plane - missile) / speed, 2)
        aim, turned = steered(aim, plane + ahead * plane_speed * direction(course) - missile)
        speed -= turned
        if speed < 250:
            return Flight(plane, course, missile, aim, speed), 2
        course += turn / 10
        plane_move, missile_move = plane_speed / 10 * direction(course), speed / 10 * direction(aim)
        if approach(plane - missile, plane_move - missile_move) < 50:
            return Flight(plane, course, missile, aim, speed), 1
        plane, missile = plane + plane_move, missile + missile_move
    return Flight(plane, course, missile, aim, speed), 0


def sensed(flight: Flight, noise: Sequence[float] = (0, 0, 0, 0)) -> list[float]:
    """Return what is sensed of the missile before it is rounded: range, bearing, heading and speed."""
    there = flight.missile - flight.plane
    bearing = course_of(there) - flight.course
    heading = flight.aim - course_of(-there)
    plain = abs(there), bearing, heading, flight.speed
    return [value + more for value, more in zip(plain, noise, strict=True)]


def shown(values: Sequence[float]) -> list[float]:
    """Return the readings of what is sensed: hours of a clock, and tens of degrees."""
    distance, bearing, heading, speed = values
    hours, tens = round(bearing / 30) % 12, round(heading / 10) % 36
    return [reading(distance, 100, 0, 3000), hours or 12, 10 * tens, reading(speed, 50, 0, 1000)]

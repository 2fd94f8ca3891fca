"""Random numbers as pure functions: seeds, named streams and draws by position.

A stream is a 64-bit key, and its i-th draw is the i-th output of SplitMix64 (Steele, Lea and
Flood, "Fast splittable pseudorandom number generators", 2014) seeded with that key. Nothing is
ever advanced: whoever knows (seed, purpose, epoch, individual, position) knows the number, so
results cannot depend on the order of work, on threads or on where a run was interrupted.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from ifthen.checks import whole_number
from ifthen.jit import kernel, lean_kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
ONE = np.uint64(1)
TO_UNIT = 2.0**-53


@kernel
def mix(z: np.uint64) -> np.uint64:
    """Scramble 64 bits (SplitMix64's finaliser)."""
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@kernel
def draw(key: np.uint64, position: int) -> np.uint64:
    """Return the 64 random bits at `position` = 0, 1, … of the stream `key`."""
    return mix(key + (np.uint64(position) + ONE) * GOLDEN)


@kernel
def uniform(key: np.uint64, position: int) -> float:
    """Return the number in [0, 1) at `position` of the stream `key`."""
    return float(draw(key, position) >> S11) * TO_UNIT


@kernel
def below(key: np.uint64, position: int, n: int) -> int:
    """Return the integer in 0 … n − 1 at `position` of the stream `key`."""
    return int(uniform(key, position) * n)


@lean_kernel
def normal(key: np.uint64, position: int) -> float:
    """Return a standard normal variate from the draw at `position` and the next (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, position)))
    return radius * math.cos(2.0 * math.pi * uniform(key, position + 1))


@kernel
def fold(key: np.uint64, value: int) -> np.uint64:
    """Return the key of the sub-stream number `value` of the stream `key`."""
    return mix(mix(key + GOLDEN) ^ mix(np.uint64(value) * MIX_2 + GOLDEN))


def check_seed(seed: object, name: str = "seed") -> int:
    """Return `seed` as an int, or raise if it is not a whole number from 0 to 2**63 − 1."""
    return whole_number(name, seed, 0, 2**63 - 1)


def stream(seed: int, purpose: str, *numbers: int) -> np.uint64:
    """Return the key of the stream for (seed, purpose, numbers…).

    Args:
        seed: the user's seed.
        purpose: what the numbers are for, as a word: "breed", "reinforce", "z".
        numbers: further coordinates, such as the epoch.
    """
    name = hashlib.blake2b(purpose.encode(), digest_size=7).digest()
    key = np.uint64(0)
    with np.errstate(over="ignore"):
        for number in (check_seed(seed), int.from_bytes(name, "little"), *numbers):
            # Compiled code hands back a plain int, which must not be taken for a signed number.
            key = np.uint64(fold(key, number))
    return key

"""Choosing actions of one individual many times over: its rules in blocks of eight, matched side by side.

Where the same rules choose at every step of many episodes, it pays to lay them out once. A block is eight
rules; for each feature that any of them restricts it holds their eight intervals in a row, which processors
compare with a value in a few instructions. The result is a bit mask (bit r: rule r of the block).
Nothing branches on single conditions, whose outcome no processor can foresee. Choices are those of
`batch.chosen`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types
from numba.core.base import BaseContext
from numba.core.cpu import CPUContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature
from numba.extending import overload

from ifthen.jit import inlined_kernel, intrinsic, kernel
from ifthen.rules.arrays import Floats, Ints
from ifthen.rules.batch import LIST, Intervals, is_stronger, predicted
from ifthen.rules.box import trailing_zeros
from ifthen.rules.ruleset import NULL_ACTION

EIGHT = 8
ALL = 255


class Blocks(NamedTuple):
    """The rules of one individual; a row is the intervals of one block's rules on one feature."""

    ends: Ints
    """`(blocks,)`: where the rows of each block end; they begin where those before it end."""
    features: Ints
    """`(rows,)`: the feature or, counted on, the term of each row."""
    lows: Floats
    """`(rows · 8,)`: where intervals begin."""
    highs: Floats
    """`(rows · 8,)`: where intervals end; before they begin where they wrap. The rules that fill up the last
    block match nothing."""
    deviations: Floats
    """`(rules,)`: sqrt(var) of each rule; not used in lists."""


@kernel
def new_blocks(rules: Intervals) -> Blocks:
    """Return room for the rules of any one individual."""
    count, features = rules.actions.shape[1], rules.lows.shape[2]
    blocks = (count + EIGHT - 1) // EIGHT
    # A last block that is not full needs a row that no missing rule matches.
    rows = blocks * features
    return Blocks(
        np.zeros(blocks, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows * EIGHT),
        np.zeros(rows * EIGHT),
        np.zeros(count),
    )


@kernel
def fill_blocks(rules: Intervals, i: int, out: Blocks) -> None:
    """Lay out the rules of individual i."""
    count, features = rules.lengths[i], rules.lows.shape[2]
    row = 0
    for block in range(len(out.ends)):
        first_rule = block * EIGHT
        for d in range(features):
            restricts = d == 0 and first_rule + EIGHT > count
            for r in range(EIGHT):
                missing = first_rule + r >= count
                low = math.inf if missing else rules.lows[i, first_rule + r, d]
                high = -math.inf if missing else rules.highs[i, first_rule + r, d]
                out.lows[row * EIGHT + r] = low
                out.highs[row * EIGHT + r] = high
                restricts = restricts or (not missing and (low > -math.inf or high < math.inf))
            if restricts:
                out.features[row] = d
                row += 1
        out.ends[block] = row
    if rules.how != LIST:
        for r in range(count):
            out.deviations[r] = math.sqrt(rules.learnt[i, r, -1])


@intrinsic
def _eight_at_once(
    typing: TypingContext,
    lows: types.Type,
    highs: types.Type,
    first: types.Type,
    value: types.Type,
    wrap: types.BaseTuple,
) -> Any:
    """Stand for eight comparisons with each end, as vectors of eight numbers.

    A GPU has no such vectors. There the bits are put together one by one, which takes it fewer instructions,
    and ends are loaded two at a time.
    """
    some_wrap = len(wrap) > 0

    def generate(
        context: BaseContext, builder: ir.IRBuilder, signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        eight, index = ir.VectorType(ir.DoubleType(), EIGHT), ir.IntType(32)
        on_cpu = isinstance(context, CPUContext)

        def loaded(position: int) -> ir.Value:
            make = context.make_array(signature.args[position])  # type: ignore[no-untyped-call]  # no types
            array = make(context, builder, arguments[position])
            address = builder.gep(array.data, [arguments[2]])
            vector = builder.load(builder.bitcast(address, eight.as_pointer()))
            vector.align = 8 if on_cpu else 16  # rows have 64 bytes, and memory of a GPU begins at 256
            return vector

        undefined = ir.Constant(eight, ir.Undefined)
        first_lane = builder.insert_element(undefined, arguments[3], ir.Constant(index, 0))
        zero_indices = ir.Constant(ir.VectorType(index, EIGHT), [0] * EIGHT)
        values = builder.shuffle_vector(first_lane, undefined, zero_indices)
        lows, highs = loaded(0), loaded(1)
        above, below = builder.fcmp_ordered(">=", values, lows), builder.fcmp_ordered("<=", values, highs)
        inside = builder.and_(above, below)
        if some_wrap:
            wrapped = builder.and_(builder.or_(above, below), builder.fcmp_ordered(">", lows, highs))
            inside = builder.or_(inside, wrapped)
        bits = builder.bitcast(inside, ir.IntType(EIGHT)) if on_cpu else one_by_one(builder, inside)
        return builder.zext(bits, ir.IntType(64))

    def one_by_one(builder: ir.IRBuilder, inside: ir.Value) -> ir.Value:
        word, bits = ir.IntType(32), ir.Constant(ir.IntType(32), 0)
        for r in range(EIGHT):
            is_inside = builder.extract_element(inside, ir.Constant(word, r))
            bit = builder.select(is_inside, ir.Constant(word, 1 << r), ir.Constant(word, 0))
            bits = builder.or_(bits, bit)
        return bits

    return types.int64(lows, highs, types.int64, types.float64, wrap), generate


def holding(lows: Floats, highs: Floats, first: int, value: float, wrap: tuple[bool, ...]) -> int:
    """Return the eight intervals from `first` on that hold a value, as bits (where nothing is compiled).

    In compiled code an empty `wrap` says that none of them wraps, which saves a comparison.
    """
    rows = ((lows[first + r], highs[first + r]) for r in range(EIGHT))
    inside = (low <= value or value <= high if low > high else low <= value <= high for low, high in rows)
    return sum(int(bit) << r for r, bit in enumerate(inside))


@overload(holding)
def _compiled_holding(
    lows: object, highs: object, first: object, value: object, wrap: object
) -> Callable[..., int]:
    """Return what stands for `holding` in compiled code."""

    def compiled(lows: object, highs: object, first: object, value: object, wrap: object) -> int:
        bits: int = _eight_at_once(lows, highs, first, value, wrap)
        return bits

    return compiled


@inlined_kernel
def chosen_by_blocks(rules: Intervals, i: int, blocks: Blocks, points: Floats, lane: int) -> int:
    """Return the action of individual i, whose rules `blocks` holds, at the point; −1 for none.

    Behind the point's features stand the values of terms (`put_terms`), where the individual has any.
    """
    best, top, row = NULL_ACTION, -math.inf, 0
    for block in range(len(blocks.ends)):
        mask = ALL
        while row < blocks.ends[block]:
            value = points[lane, blocks.features[row]]
            mask &= holding(blocks.lows, blocks.highs, row * EIGHT, value, rules.wrap)
            row += 1
        if rules.how == LIST and mask != 0:
            return int(rules.actions[i, block * EIGHT + trailing_zeros(np.uint64(mask))])
        while mask != 0:
            r = block * EIGHT + trailing_zeros(np.uint64(mask))
            mask &= mask - 1
            a = rules.actions[i, r]
            strength = predicted(rules, i, r, points, lane) - blocks.deviations[r]
            better = is_stronger(strength, a, top, best)
            best = a if better else best
            top = strength if better else top
    return rules.default if best < 0 else int(best)

"""The difference in time per step, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reportgen.arrays import Floats, Mask
from reportgen.comparison.model import Histogram, PartDifference, StepDifference
from reportgen.comparison.runs import RunSteps
from reportgen.units import NS_PER_S

WARM_UP_STEPS = 10
"""Steps left out at the start of a run: caches fill, kernels are chosen, the loader catches up."""
WARM_UP_RATIO = 0.1
"""But never more than a tenth of the steps, and at least the first one where there are
``LEAST_WITH_WARM_UP``: it carries the start of the profiler and of the loader."""
LEAST_WITH_WARM_UP = 5
FEW_STEPS = 30
"""With fewer steps on a side a bootstrap of their median knows too few values; the interval is that
of the rank-sum test, which is exact (Hodges and Lehmann 1963)."""
LEAST_STEPS = 3
"""Fewer steps have no spread that could say what noise is."""
_DRAWS = 1_000
_FEWER_DRAWS = 300
_MANY_STEPS = 20_000
"""A median of this many steps is so sure that fewer draws suffice for its interval."""
_BLOCK_LAGS = 50
"""Blocks are at most this many steps long: noise of a training loop is forgotten sooner."""
_BINS = 50
_HISTOGRAM_REACH_PCT = 99.5
"""Steps beyond this percentile of both runs are counted in the last bin."""
_SEED = 20_260_101
"""Any fixed number: the same reports give the same interval."""
_Z_95 = 1.96
_CERTAIN_PCT, _Z_CERTAIN, _PART_TAIL_PCT = 99.8, 3.09, 0.25
"""The verdict asks for 99.8 % of the medians and of the means, and for 99.5 % of a part of the
steps, which the mean must confirm: of hundred jobs compared with themselves less than one is
wrong."""
_MOST_SEGMENTS, _LEAST_SEGMENTS, _LEAST_SEGMENT_STEPS = 12, 4, 8
"""Between 10 and 30 segments show the error of a mean best (Schmeiser 1982); fewer show
noise that lasts longer."""
_MOST_PAIRS, _LEAST_PAIRS, _SUBSETS = 24, 9, 4_000
"""Pairs of segments: nine that all differ in one direction are chance once in 256 cases."""
LEAST_RATIO = 0.005
"""Smaller differences are none: two runs of one job on one machine differ by about as much."""
_Z_POWER = 0.84
"""A difference that exceeds the interval by 0.84 standard errors is found in four of five cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which rows of both runs are compared, a mask each, and why these."""

    before: Mask
    after: Mask
    how: str


def choose(before: RunSteps, after: RunSteps) -> Chosen:
    """Leave out the warm-up, and compare the same step numbers where both runs have them."""
    first, second = _warm(before), _warm(after)
    if before.number is not None and after.number is not None:
        low = max(int(before.number[first][0]), int(after.number[second][0]))
        high = min(int(before.number[-1]), int(after.number[-1]))
        same_first = first & (before.number >= low) & (before.number <= high)
        same_second = second & (after.number >= low) & (after.number <= high)
        if min(same_first.sum(), same_second.sum()) >= LEAST_STEPS:
            return Chosen(
                before=same_first, after=same_second, how=f"steps {low:,} to {high:,} of both"
            )
    return Chosen(before=first, after=second, how="all steps after the warm-up")


def difference_of(before: Floats, after: Floats) -> StepDifference:
    """Return the difference in time per step.

    Args:
        before, after: (n,) and (m,) ns, at least ``LEAST_STEPS`` each, in order of time.
    """
    (low, high), (lowest, highest), error_ns = _intervals(before, after)
    least_ns = max(
        (highest - lowest) / 2 + error_ns * _Z_POWER,
        LEAST_RATIO * float(np.median(before) + np.median(after)) / 2,
    )
    p50_s = float(np.median(before)) / NS_PER_S, float(np.median(after)) / NS_PER_S
    mean_s = float(before.mean()) / NS_PER_S, float(after.mean()) / NS_PER_S
    return StepDifference(
        before_p50_s=p50_s[0],
        after_p50_s=p50_s[1],
        difference_s=p50_s[1] - p50_s[0],
        interval_s=(low / NS_PER_S, high / NS_PER_S),
        certain_s=(lowest / NS_PER_S, highest / NS_PER_S),
        noise_s=max(map(_noise_ns, (before, after))) / NS_PER_S,
        least_s=least_ns / NS_PER_S,
        ratio=p50_s[1] / p50_s[0] if p50_s[0] else 1.0,
        before_mean_s=mean_s[0],
        after_mean_s=mean_s[1],
        step_mean_difference_s=mean_s[1] - mean_s[0],
        mean_interval_s=_mean_interval_s(before, after),
        before_n=before.size,
        after_n=after.size,
        histogram=_histogram(before, after),
    )


def difference_of_steps(before: RunSteps, after: RunSteps, chosen: Chosen) -> StepDifference:
    """Return the difference in time per step, and in its parts, of the chosen steps of two runs."""
    whole = difference_of(before.cycle_ns[chosen.before], after.cycle_ns[chosen.after])
    sides = _parts(before, chosen.before), _parts(after, chosen.after)
    parts = [
        PartDifference(
            key=key,
            difference_s=float(times.mean() - sides[0][key].mean()) / NS_PER_S,
            interval_s=_part_interval_s(sides[0][key], times),
        )
        for key, times in sides[1].items()
    ]
    return replace(whole, parts=tuple(parts))


def _parts(steps: RunSteps, rows: Mask) -> dict[str, Floats]:
    """Return the times outside the work of each step: what drifts on a busy machine is not in them.

    The keys are those of the waterfall.
    """
    between_ns = steps.cycle_ns - steps.inside_ns - steps.wait_ns
    return {"input_wait": steps.wait_ns[rows], "between_steps": between_ns[rows]}


def _warm(steps: RunSteps) -> Mask:
    """Return the rows after the warm-up; a row that stands for many steps is left out whole."""
    n = steps.start_ns.size
    n_left_out = min(WARM_UP_STEPS, max(int(n >= LEAST_WITH_WARM_UP), int(n * WARM_UP_RATIO)))
    return np.arange(n) >= n_left_out


def _intervals(
    before: Floats, after: Floats
) -> tuple[tuple[float, float], tuple[float, float], float]:
    if min(before.size, after.size) < FEW_STEPS:
        shifts = np.sort(np.subtract.outer(after, before).ravel())
        wide, certain = (
            _shift_interval(shifts, before.size, after.size, level) for level in (0.05, 0.01)
        )
        return wide, certain, (wide[1] - wide[0]) / (2 * _Z_95)
    rng = np.random.default_rng(_SEED)
    drawn = _medians(after, rng) - _medians(before, rng)
    middle_ns, error_ns = float(np.median(after) - np.median(before)), float(drawn.std())
    lasting_ns = _segment_reach_ns(before, after, np.median)
    # Medians of steps that alternate jump between two values: their draws are far from normal.
    jump_ns = float(np.percentile(np.abs(drawn - middle_ns), _CERTAIN_PCT))
    reach_ns = max(_Z_CERTAIN * error_ns, jump_ns, lasting_ns or 0.0)
    wider = reach_ns / (_Z_CERTAIN * error_ns) if error_ns else 1.0
    low, high = (middle_ns + wider * (np.percentile(drawn, (2.5, 97.5)) - middle_ns)).tolist()
    return (low, high), (middle_ns - reach_ns, middle_ns + reach_ns), reach_ns / _Z_CERTAIN


def _mean_interval_s(before: Floats, after: Floats) -> tuple[float, float]:
    """Return the interval of a difference of means, in seconds; of few steps all that can be."""
    middle, most = float(after.mean() - before.mean()), float(before.mean() + after.mean())
    known = _segment_reach_ns(before, after, np.mean)
    reach = most if known is None else known
    return (middle - reach) / NS_PER_S, (middle + reach) / NS_PER_S


def _part_interval_s(before: Floats, after: Floats) -> tuple[float, float]:
    """Return the 99.5 % interval of a difference of means that few steps make, in seconds.

    Segments are compared in pairs: the first of both runs, the second, and so on, since an epoch
    begins in both at about the same step. Where nothing changed, the difference of a pair is as
    often positive as negative, and so is the mean of any subset of them: means of random subsets
    are an interval (Hartigan 1969), whatever the distribution of bursts. Noise that neighbouring
    segments of both runs have in common widens it; of one run alone it belongs to the change.
    """
    n = min(_MOST_PAIRS, min(before.size, after.size) // _LEAST_SEGMENT_STEPS)
    if n < _LEAST_PAIRS:
        most_s = float(before.mean() + after.mean()) / NS_PER_S
        return -most_s, most_s
    sides = _segments(before, after, np.mean, n=n) / NS_PER_S
    pairs, lasting = sides[1] - sides[0], max(min(map(_memory, sides)), 0.0)
    subset = np.random.default_rng(_SEED).integers(0, 2, (_SUBSETS, n))
    means = (subset @ pairs)[subset.any(axis=1)] / subset.sum(axis=1)[subset.any(axis=1)]
    bounds = np.percentile(means, (_PART_TAIL_PCT, 100 - _PART_TAIL_PCT))
    wider = np.sqrt((1 + lasting) / (1 - lasting)) - 1
    low, high = (bounds + wider * (bounds - pairs.mean())).tolist()
    return low, high


def _memory(segments: Floats) -> float:
    centred = segments - segments.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power else 0.0


def _segments(before: Floats, after: Floats, middle: Callable[[Floats], Any], *, n: int) -> Floats:
    return np.array(
        [[middle(part) for part in np.array_split(values, n)] for values in (before, after)]
    )


def _segment_reach_ns(
    before: Floats, after: Floats, middle: Callable[[Floats], Any]
) -> float | None:
    """Return how far noise alone can move a difference, as segments of each run differ.

    They show noise that lasts over many steps, such as the load of a shared machine, and bursts.
    Few segments know their scatter badly: it is multiplied by Student's t. Few steps have no
    segments: ``None``.
    """
    n = min(_MOST_SEGMENTS, min(before.size, after.size) // _LEAST_SEGMENT_STEPS)
    if n < _LEAST_SEGMENTS:
        return None
    parts = _segments(before, after, middle, n=n)
    error_ns = float(np.sqrt(np.var(parts, axis=1, ddof=1).sum() / n))
    return _student(_Z_CERTAIN, 2 * n - 2) * error_ns


def _student(z: float, freedom: int) -> float:
    """Return Student's t that is exceeded as often as ``z`` by a normal value.

    The expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5).

    Example:
        >>> round(_student(1.96, 22), 2), round(_student(1.96, 6), 2)
        (2.07, 2.45)
    """
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / freedom**power for power, term in enumerate(terms)))


def _shift_interval(shifts: Floats, n: int, m: int, level: float) -> tuple[float, float]:
    """Return the interval of all shifts that the exact rank-sum test does not refuse.

    Too few steps for any test at this level leave the shift unknown: the interval holds zero.
    """
    tail = np.cumsum(_rank_sums(n, m))
    n_outside = int(np.searchsorted(tail / tail[-1], level / 2, side="right"))
    if n_outside == 0:
        return min(0.0, float(shifts[0])), max(0.0, float(shifts[-1]))
    return float(shifts[n_outside - 1]), float(shifts[-n_outside])


def _rank_sums(n: int, m: int) -> Floats:
    """Return in how many orders of n and m values each number of pairs is out of order.

    The coefficients of the Gaussian binomial: the product of (1 - x^(m + i)) / (1 - x^i).
    """
    ways = np.zeros(n * m + 1)
    ways[0] = 1.0
    for i in range(1, n + 1):
        grown = ways.copy()
        grown[m + i :] -= ways[: max(ways.size - m - i, 0)]
        for start in range(i):
            grown[start::i] = np.cumsum(grown[start::i])
        ways = grown
    return ways


def _medians(values: Floats, rng: np.random.Generator) -> Floats:
    """Return medians of resampled series of blocks, so that neighbours stay together.

    Each draw takes whole blocks, as often as chance wants. The values are sorted once; the median
    of a draw is where the sum of the weights of their blocks reaches the half.
    """
    n = values.size
    block = np.arange(n) // _block_length(values)
    n_blocks = int(block[-1]) + 1
    n_draws = _FEWER_DRAWS if n > _MANY_STEPS else _DRAWS
    order = np.argsort(values, kind="stable")
    in_order, ordered_block = values[order], block[order]
    found = np.empty(n_draws)
    for number in range(n_draws):
        times = np.bincount(rng.integers(0, n_blocks, n_blocks), minlength=n_blocks)
        total = np.cumsum(times[ordered_block])
        low = np.searchsorted(total, total[-1] / 2, side="left")
        high = np.searchsorted(total, total[-1] / 2, side="right")
        found[number] = (in_order[low] + in_order[min(high, n - 1)]) / 2
    return found


def _block_length(values: Floats) -> int:
    """Return a length of blocks that holds what neighbours have in common.

    The first lag at which the rank correlation with the series moved by it is noise alone, but
    not less than the cube root of n, which an unknown dependence asks for (Künsch 1989).
    """
    n = values.size
    usual = max(1, round(n ** (1 / 3)))
    if n < 4 * usual:
        return max(1, n // 8)
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(np.float64)
    rank = rank - rank.mean()
    power = float(rank @ rank)
    limit = 2 / np.sqrt(n)
    lags = range(1, min(_BLOCK_LAGS, n // 10) + 1)
    quiet = (lag for lag in lags if abs(float(rank[lag:] @ rank[:-lag])) < limit * power)
    return int(max(usual, min(next(quiet, _BLOCK_LAGS), n // 10)))


def _noise_ns(values: Floats) -> float:
    half = values.size // 2
    return abs(float(np.median(values[:half]) - np.median(values[half:]))) if half else 0.0


def _histogram(before: Floats, after: Floats) -> Histogram:
    both = np.concatenate((before, after))
    low, high = float(both.min()), float(np.percentile(both, _HISTOGRAM_REACH_PCT))
    edges = np.linspace(low, max(high, low * (1 + 1e-6) + 1), _BINS + 1)
    counts = [
        np.histogram(np.minimum(durations, edges[-1]), edges)[0] for durations in (before, after)
    ]
    return Histogram(
        edges_s=tuple((edges / NS_PER_S).tolist()),
        before=tuple(counts[0].tolist()),
        after=tuple(counts[1].tolist()),
    )

"""Deterministic minimization of a selection criterion over (beta, lambda): scan the box, then refine.

A criterion depends on the law through the occurrence ratio κ and the tPIT values U_i of the few observations
below the threshold. Both are smooth in (log beta, log lambda); the criterion, a supremum, is not.

1. κ on a grid of the box. Σ w_i Θ(a_i / lambda) is a correlation of the histogram of log|a_i| with a table
   of Θ, so that one small matrix product gives all of them, whatever the number of observations.
2. The U_i and the criterion on the grid, but only where a lower bound that κ alone gives lets them matter. All cells
   of the grid see an observation at the same fraction of a bin, so that one interpolation in log|a| is enough.
3. The best cells are refined together. Around each, κ and the U_i are evaluated at 3 × 3 nodes and
   interpolated to 9 × 9 points; the patch shrinks around the best point.

All of this uses the tables of `tcgp.calibration.tail_table`; the last choice, between the best patches, is
made with the exact law. Points are pairs (log beta, nu), nu the logarithm of the median of |r|: the criterion
has long narrow valleys along which lambda changes fast and the predicted probabilities slowly, and in these
coordinates they are nearly straight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tcgp._typing import BoolArray, FloatArray, IntArray
from tcgp.calibration.tail import SelectionCriterion, TailProblem, criterion_named, selection_criterion
from tcgp.calibration.tail_table import TailTable, tail_table
from tcgp.laws import GeneralizedNormal

__all__ = ["Grid", "TabulatedProblem", "laws_at", "prepare_grid", "scan"]

Range: TypeAlias = tuple[float, float]
# Values of log κ (m,) and log(−log U) (m, k) at m laws.
Fields: TypeAlias = tuple[FloatArray, FloatArray]

# The grid of the scan: steps of 20 % in beta and in lambda.
_SHAPE = _N_BETA, _N_SCALE = 25, 40
_N_CELLS = _N_BETA * _N_SCALE
# Bins of log|a| per step of log lambda.
_BINS_PER_STEP = 6
_LOG_ABS_START, _LOG_ABS_STOP = -12.0, 14.0
# Candidates spread evenly over the box, as many as the paper draws.
_N_EVEN = 900
# Cells of the grid that are refined, and how far apart they must be, in steps of the grid.
_N_STARTS, _SEPARATION = 5, 1
# Cells among which they are chosen: each rules out eight others at most.
_N_SORTED = 9 * _N_STARTS
# The criterion is evaluated where its lower bound is at most this much above the best value of the grid.
_MARGIN = 0.02
# Cells of lowest bound that are evaluated first.
_N_FIRST = 48
# Evenly spread candidates, of the lowest values interpolated between cells, among which the best is looked for.
_N_LIKELY = 64

# Half-widths of the first patches, along and across the valley; for each level, how many patches survive it
# and by how much they shrink.
_WIDTHS = (0.12, 0.12)
_LEVELS = ((3, (2.0, 0.35)), (2, (0.6, 0.35)), (2, (0.4, 0.35)), (2, (0.25, 0.35)), (2, (0.25, 0.35)))
# How much better than the evenly spread candidates a value must be to be preferred.
_TIE = 5e-4
# How far apart two values must be, relative to the inverse of the excursion frequency, to be compared by tables.
_TABLE_ERROR = 1e-4
# Points nearer to each other than this, in log beta and nu, are one minimum: what a last patch resolves.
_RESOLUTION = (0.01, 0.001)
# With fewer observations below the threshold leaving points out costs more than it saves.
_FEW = 8
# Interpolated values may fall short of those they interpolate by about this much.
_SLACK = 0.01
# Draws a patch to its centre where the criterion is flat.
_INERTIA = 1e-7

# Bounds that keep logarithms and their interpolation finite.
_LARGEST_LOG_ABS = 300.0
_LARGEST_LOG = 300.0
_SMALLEST, _LARGEST = np.exp(-50.0), np.exp(_LARGEST_LOG)
_TINY = 1e-300
_LOG_LEAST = -700.0


def scan(problem: TailProblem, criterion: str, beta_range: Range, scale_range: Range) -> tuple[float, float]:
    """Return the (beta, lambda) that minimizes a criterion over a box."""
    grid = prepare_grid(beta_range, scale_range)
    data = TabulatedProblem.of(problem, grid.table)
    loss = _Loss.of(problem, criterion)
    local = _LocalSearch(loss, grid.table, np.log([beta_range, scale_range]))
    patches = local.start(*_starts(data, loss, grid))
    for survivors, shrinkage in _LEVELS:
        patches = local.step(patches, shrinkage, data.fields)
        patches = patches[np.argsort(patches.values - patches.handicap, kind="stable")[:survivors]]
    laws = laws_at(patches.best, grid.table)
    values = patches.values - patches.handicap
    apart = (np.abs(patches.best - patches.best[0]) > _RESOLUTION).any(axis=1)
    if values[apart].min(initial=np.inf) < values[0] + _TABLE_ERROR / loss.frequency:
        values = selection_criterion(problem, laws, criterion) - patches.handicap
    best = np.argmin(values)
    beta, scale = np.ravel(laws.beta)[best], np.ravel(laws.scale)[best]
    return float(np.clip(beta, *beta_range)), float(np.clip(scale, *scale_range))


def laws_at(points: FloatArray, table: TailTable) -> GeneralizedNormal:
    """The laws at m points, with parameters of shape (m, 1)."""
    log_scale = points[:, 1] - table.log_median(points[:, 0])
    return GeneralizedNormal(np.exp(points[:, :1]), np.exp(log_scale[:, None]))


@dataclass(frozen=True)
class _Loss:
    """A criterion as a function of κ and the U_i, and a lower bound from κ alone."""

    criterion: SelectionCriterion
    bound: Callable[[FloatArray, float], FloatArray] | None
    jumps: FloatArray
    frequency: float

    @classmethod
    def of(cls, problem: TailProblem, criterion: str) -> _Loss:
        return cls(
            criterion_named(criterion), _BOUNDS.get(criterion), problem.jumps, problem.excursion_frequency
        )

    def below(self, limits: FloatArray, log_kappa: FloatArray, log_neg_log_pit: FloatArray) -> FloatArray:
        """Values where the bound is at most a limit, and the bound elsewhere; (m, p), limits (m, 1)."""
        if self.bound is None or len(self.jumps) < _FEW:
            return self(log_kappa, log_neg_log_pit)
        values = self.bound(np.exp(log_kappa), self.frequency)
        some = np.nonzero(values <= limits)
        values[some] = self(log_kappa[some], log_neg_log_pit[some])
        return values

    def __call__(self, log_kappa: FloatArray, log_neg_log_pit: FloatArray) -> FloatArray:
        # The clipping matters only to interpolated values.
        return self.of_pit(log_kappa, _exp(-np.exp(np.minimum(log_neg_log_pit, _LARGEST_LOG))))

    def of_pit(self, log_kappa: FloatArray, pit: FloatArray) -> FloatArray:
        """Values (m,) at log κ (m,) and U (m, k)."""
        return self.criterion(pit, self.jumps, np.exp(log_kappa), self.frequency)


# At u = 1 the step function is 1 and the supremum known; "thres" and "rule1" have no bound but zero.
_BOUNDS: dict[str, Callable[[FloatArray, float], FloatArray]] = {
    "joint": lambda kappa, p: np.abs(1.0 - kappa),
    "occ": lambda kappa, p: p * np.abs(1.0 - kappa),
    "rule2": lambda kappa, p: np.abs(1.0 - 1.0 / kappa),
    "rule3": lambda kappa, p: np.abs(1.0 - 1.0 / kappa),
}


@dataclass(frozen=True)
class TabulatedProblem:
    """A problem prepared for table look-ups."""

    table: TailTable
    # The n values at the threshold, then the k values below it.
    log_abs: FloatArray
    # Where the k values below the threshold are among these, then their values at the threshold; (2k,).
    tail: IntArray
    tail_positive: BoolArray
    any_positive: bool
    # Σ w Θ(a) = Σ_{a > 0} w + Σ ± w Θ(−|a|).
    signed_weights: FloatArray
    positive_weight: float
    frequency: float

    @classmethod
    def of(cls, problem: TailProblem, table: TailTable) -> TabulatedProblem:
        n, k = len(problem.at_threshold), len(problem.below)
        values = np.concatenate([problem.at_threshold, problem.at_values])
        positive = values > 0.0
        with np.errstate(divide="ignore"):
            log_abs = np.clip(np.log(np.abs(values)), -_LARGEST_LOG_ABS, _LARGEST_LOG_ABS)
        tail = np.append(np.arange(n, n + k), problem.below)
        return cls(
            table=table,
            log_abs=log_abs,
            tail=tail,
            tail_positive=positive[tail],
            any_positive=bool(positive[tail].any()),
            signed_weights=np.where(positive[:n], -problem.weights, problem.weights),
            positive_weight=float(problem.weights[positive[:n]].sum()),
            frequency=problem.excursion_frequency,
        )

    def fields(self, points: FloatArray) -> Fields:
        """log κ and log(−log U) at m points."""
        n = len(self.signed_weights)
        log_tail = _log_tail(self.table.log_neg_log_q(points[:, 0], points[:, 1], self.log_abs))
        kappa = (_exp(log_tail[:, :n]) @ self.signed_weights + self.positive_weight) / self.frequency
        return np.log(np.maximum(kappa, _TINY)), _clipped_log(-self._log_pit(log_tail[:, self.tail]))

    def log_pit(self, points: FloatArray) -> FloatArray:
        """log U at m points; (m, k)."""
        return self.log_pit_of(self.table.log_neg_log_q(points[:, 0], points[:, 1], self.log_abs[self.tail]))

    def log_pit_of(self, log_neg_log_q: FloatArray) -> FloatArray:
        """log U from log(−log Q) at the values below the threshold and at the threshold, (m, 2k); (m, k)."""
        return self._log_pit(_log_tail(log_neg_log_q))

    def _log_pit(self, log_tail: FloatArray) -> FloatArray:
        """log U from log Θ(−|r|) at the values and at the threshold, (m, 2k); (m, k)."""
        k = len(self.tail) // 2
        log_cdf = log_tail
        if self.any_positive:
            log_cdf = np.where(self.tail_positive, np.log1p(-_exp(log_tail)), log_tail)
        return np.minimum(log_cdf[:, :k] - log_cdf[:, k:], 0.0)


def _log_tail(log_neg_log_q: FloatArray) -> FloatArray:
    """log Θ(−|r|) from log(−log Q)."""
    out: FloatArray = -np.exp(np.minimum(log_neg_log_q, _LARGEST_LOG)) - np.log(2.0)
    return out


def _exp(log_value: FloatArray) -> FloatArray:
    """Exponential that does not underflow, which would take ten to a hundred times as long; e^-700 stands for zero."""
    return np.exp(np.maximum(log_value, _LOG_LEAST))


def _clipped_log(value: FloatArray) -> FloatArray:
    """Logarithm of a nonnegative value, within finite bounds."""
    return np.log(np.minimum(np.maximum(value, _SMALLEST), _LARGEST))


@dataclass(frozen=True)
class Grid:
    """What the scan of a box needs and no datum changes."""

    table: TailTable
    bin_width: float
    n_bins: int
    # log(−log 2Θ(−e^u)) and Θ(−e^u) at the values u = log|a| − log lambda that bins and grid can meet, for each beta;
    # (u, beta).
    log_neg_log_q: FloatArray
    tails: FloatArray
    # Candidates: the cells of a grid of log lambda and log beta, row by row, then the evenly spread points.
    candidates: FloatArray
    # The cells around each evenly spread point and their bilinear weights; (even, 4).
    corners: IntArray
    corner_weights: FloatArray

    def log_kappa(self, data: TabulatedProblem) -> FloatArray:
        """log κ at every candidate, interpolated between cells at the evenly spread ones."""
        left, fraction = self._bins(data.log_abs[: len(data.signed_weights)])
        shift = _BINS_PER_STEP * (_N_SCALE - 1)
        histogram = np.bincount(
            np.concatenate([left, left + 1]) + shift,
            np.concatenate([data.signed_weights * (1.0 - fraction), data.signed_weights * fraction]),
            minlength=self.n_bins + 2 * shift,
        )
        # Row j of the windows is the histogram of log|a| − log lambda_j.
        windows = np.lib.stride_tricks.sliding_window_view(histogram, len(self.tails))[::_BINS_PER_STEP]
        kappa = (windows @ self.tails + data.positive_weight) / data.frequency
        in_cells = np.log(np.maximum(kappa, _TINY)).ravel()
        return np.append(in_cells, self.interpolate(in_cells))

    def log_pit(self, data: TabulatedProblem, cells: IntArray) -> FloatArray:
        """log U at some cells; (m, k)."""
        left, fraction = self._bins(data.log_abs[data.tail])
        row, column = np.divmod(cells[:, None], _N_BETA)
        below = (left + _BINS_PER_STEP * (_N_SCALE - 1 - row)) * _N_BETA + column
        lower, upper = self.log_neg_log_q.take(below), self.log_neg_log_q.take(below + _N_BETA)
        return data.log_pit_of(lower + fraction * (upper - lower))

    def interpolate(self, in_cells: FloatArray) -> FloatArray:
        """Values at the evenly spread candidates, from those in all cells."""
        out: FloatArray = np.einsum("ij,ij->i", in_cells[self.corners], self.corner_weights)
        return out

    def _bins(self, log_abs: FloatArray) -> tuple[IntArray, FloatArray]:
        """The bins on the left of values of log|a|, and how far these are on the way to the next."""
        position = np.clip((log_abs - _LOG_ABS_START) / self.bin_width, 0.0, self.n_bins - 1.001)
        left = position.astype(np.intp)
        return left, position - left


@lru_cache(maxsize=4)
def prepare_grid(beta_range: Range, scale_range: Range) -> Grid:
    """Prepare the scan of a box, at the first call."""
    table = tail_table(beta_range)
    box = np.log([beta_range, scale_range])
    log_beta, log_scale = (np.linspace(low, high, n) for (low, high), n in zip(box, _SHAPE, strict=True))
    steps = np.array([log_beta[1] - log_beta[0], log_scale[1] - log_scale[0]])
    bin_width = steps[1] / _BINS_PER_STEP
    n_bins = int(np.ceil((_LOG_ABS_STOP - _LOG_ABS_START) / bin_width))
    n_ratios = n_bins + _BINS_PER_STEP * (_N_SCALE - 1)
    log_ratio = _LOG_ABS_START - box[1, 1] + bin_width * np.arange(n_ratios)
    log_neg_log_q = table.log_neg_log_q(log_beta, table.log_median(log_beta), log_ratio)
    tails = 0.5 * np.exp(-np.exp(np.minimum(log_neg_log_q, _LARGEST_LOG)))
    even = np.log(_evenly_spread(_N_EVEN, np.array([beta_range, scale_range])))
    position = (even - box[:, 0]) / steps
    corner = np.minimum(position.astype(np.intp), np.array([_N_BETA - 2, _N_SCALE - 2]))
    u, v = (position - corner).T
    cell = corner[:, 1] * _N_BETA + corner[:, 0]
    cells = np.column_stack([np.tile(log_beta, _N_SCALE), np.repeat(log_scale, _N_BETA)])
    candidates = np.vstack([cells, even])
    candidates[:, 1] += table.log_median(candidates[:, 0])
    return Grid(
        table=table,
        bin_width=bin_width,
        n_bins=n_bins,
        log_neg_log_q=np.ascontiguousarray(log_neg_log_q.T),
        tails=np.ascontiguousarray(tails.T),
        candidates=candidates,
        corners=cell[:, None] + np.array([0, 1, _N_BETA, _N_BETA + 1]),
        corner_weights=np.column_stack([(1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v]),
    )


def _evenly_spread(n: int, box: FloatArray) -> FloatArray:
    """The first n points of a Kronecker sequence (plastic number), of low discrepancy, in a box; (n, 2)."""
    plastic = 1.32471795724474602596
    unit = (0.5 + np.arange(1, n + 1)[:, None] * np.array([1 / plastic, 1 / plastic**2])) % 1.0
    out: FloatArray = box[:, 0] + unit * (box[:, 1] - box[:, 0])
    return out


def _starts(data: TabulatedProblem, loss: _Loss, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """The best of the evenly spread candidates, then the best cells of the grid; (m, 2), and values (m,)."""
    log_kappa = grid.log_kappa(data)
    values = np.full(_N_CELLS, np.inf)
    bound = np.zeros(_N_CELLS)

    def evaluate(cells: IntArray) -> None:
        values[cells] = loss.of_pit(log_kappa[cells], _exp(grid.log_pit(data, cells)))

    if loss.bound is not None:
        bound = loss.bound(np.exp(log_kappa[:_N_CELLS]), loss.frequency)
        evaluate(np.argpartition(bound, _N_FIRST)[:_N_FIRST])
    evaluate(np.flatnonzero((bound <= values.min() + _MARGIN) & np.isinf(values)))
    guesses = grid.interpolate(np.where(np.isinf(values), bound, values))
    likely = _N_CELLS + np.argpartition(guesses, _N_LIKELY)[:_N_LIKELY]
    at_likely = loss.of_pit(log_kappa[likely], _exp(data.log_pit(grid.candidates[likely])))
    best, cells = np.argmin(at_likely), _separated(values)
    return grid.candidates[np.append(likely[best], cells)], np.append(at_likely[best], values[cells])


def _separated(values: FloatArray) -> IntArray:
    """The best cells, none too close to a better one."""
    order = np.argsort(values, kind="stable")[: min(np.isfinite(values).sum(), _N_SORTED)]
    row, column = np.divmod(order, _N_BETA)
    free = np.ones(len(order), dtype=bool)
    chosen: list[int] = []
    while free.any() and len(chosen) < _N_STARTS:
        first = int(np.argmax(free))
        chosen.append(first)
        free &= (np.abs(row - row[first]) > _SEPARATION) | (np.abs(column - column[first]) > _SEPARATION)
    return order[np.array(chosen, dtype=np.intp)]


@dataclass(frozen=True)
class _Patches:
    """m parallelograms along the valleys of the criterion."""

    centres: FloatArray  # (m, 2)
    widths: FloatArray  # (m, 2), half-widths along and across the valley
    slopes: FloatArray  # (m,), of the valley
    best: FloatArray  # (m, 2), the best points so far
    values: FloatArray  # (m,), at these points
    handicap: FloatArray  # (m,), by how much a value may be worse and still be preferred

    def __getitem__(self, some: IntArray) -> _Patches:
        return _Patches(
            self.centres[some],
            self.widths[some],
            self.slopes[some],
            self.best[some],
            self.values[some],
            self.handicap[some],
        )

    def at(self, offsets: FloatArray) -> FloatArray:
        """Points at offsets (m or 1, p, 2) in [−1, 1]²; (m, p, 2)."""
        steps = self.widths[:, None] * offsets
        steps[..., 1] += self.slopes[:, None] * steps[..., 0]
        return self.centres[:, None] + steps


@dataclass(frozen=True)
class _LocalSearch:
    """Minimization over patches that turn along the valley they are in, and shrink."""

    loss: _Loss
    table: TailTable
    box: FloatArray  # (2, 2), in log beta and log lambda

    def start(self, points: FloatArray, values: FloatArray) -> _Patches:
        """Patches around points, the first of which is preferred."""
        m = len(points)
        widths, slopes = np.tile(_WIDTHS, (m, 1)), np.zeros(m)
        handicap = np.where(np.arange(m) == 0, _TIE, 0.0)
        return _Patches(self._inside_box(points, widths, slopes), widths, slopes, points, values, handicap)

    def step(
        self, patches: _Patches, shrinkage: tuple[float, float], fields: Callable[[FloatArray], Fields]
    ) -> _Patches:
        """Move every patch to its best point, turn it along the valley and shrink it."""
        m = np.arange(len(patches.centres))
        values = self._values(patches, fields)
        argmin = np.argmin(values, axis=1)
        offsets = _POINTS[argmin]
        best = patches.at(offsets[:, None])[:, 0]
        slopes = patches.slopes + _tilt(values) * patches.widths[:, 1] / patches.widths[:, 0]
        # A patch whose best point is on its edge, and not on that of the box, has further to go.
        goes_on = np.abs(offsets) == 1.0
        goes_on[:, 0] &= np.abs(best[:, :1] - self.box[0]).min(axis=1) > 1e-9
        widths = patches.widths * np.where(goes_on, np.maximum(shrinkage, 1.0), shrinkage)
        centres = self._inside_box(best, widths, slopes)
        return _Patches(centres, widths, slopes, best, values[m, argmin], patches.handicap)

    def _values(self, patches: _Patches, fields: Callable[[FloatArray], Fields]) -> FloatArray:
        """The criterion at the points of patches, interpolated from nodes; infinite outside the box; (m, p)."""
        m = len(patches.centres)
        log_kappa, log_neg_log_pit = fields(patches.at(_NODES[None]).reshape(-1, 2))
        values = self.loss.below(
            patches.values[:, None] + _SLACK,
            log_kappa.reshape(m, -1) @ _INTERPOLATION.T,
            _INTERPOLATION @ log_neg_log_pit.reshape(m, len(_NODES), -1),
        )
        values += _PENALTY
        ridge = patches.at(_RIDGE[None])
        log_scale = (ridge[..., 1] - self.table.log_median(ridge[..., 0]))[..., None]
        log_scale = log_scale + patches.widths[:, 1, None, None] * _ACROSS
        if log_scale.min() < self.box[1, 0] or log_scale.max() > self.box[1, 1]:
            outside = (log_scale < self.box[1, 0]) | (log_scale > self.box[1, 1])
            values[outside.reshape(m, -1)] = np.inf
        return values

    def _inside_box(self, points: FloatArray, widths: FloatArray, slopes: FloatArray) -> FloatArray:
        """Centres of patches slid along their slopes to where beta stays in its range; (m, 2)."""
        low, high = self.box[0, 0] + widths[:, 0], self.box[0, 1] - widths[:, 0]
        log_beta = np.minimum(np.maximum(points[:, 0], low), high)
        return np.column_stack([log_beta, points[:, 1] + slopes * (log_beta - points[:, 0])])


def _tilt(values: FloatArray) -> FloatArray:
    """Slope of the bottom of the valley in each patch, in units of its widths; (m,)."""
    bottom = np.argmin(values.reshape(len(values), len(_ALONG), len(_ACROSS)), axis=2)
    known = ((bottom > 0) & (bottom < len(_ACROSS) - 1)).astype(float)
    centred = known * (_ALONG - (known @ _ALONG / np.maximum(known.sum(axis=1), 1.0))[:, None])
    spread = (centred**2).sum(axis=1)
    # Three neighbouring columns at least.
    enough = 2.0 * (_ALONG[1] - _ALONG[0]) ** 2 - 1e-9
    covariance = np.where(spread >= enough, (centred * _ACROSS[bottom]).sum(axis=1), 0.0)
    out: FloatArray = covariance / np.maximum(spread, enough)
    return out


# The offsets of nodes and points in a patch, and the matrix that interpolates from nodes to points.
def _quadratic(u: FloatArray) -> FloatArray:
    """Lagrange polynomials of the nodes −1, 0, 1 at u; (len(u), 3)."""
    return np.column_stack([u * (u - 1) / 2, 1 - u * u, u * (u + 1) / 2])


def _product(u: FloatArray, v: FloatArray) -> FloatArray:
    """All pairs of entries of u and v; (len(u) len(v), 2)."""
    return np.column_stack([np.repeat(u, len(v)), np.tile(v, len(u))])


_ALONG, _ACROSS = np.linspace(-1.0, 1.0, 9), np.linspace(-1.0, 1.0, 9)
_NODES = _product(np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0]))
_POINTS = _product(_ALONG, _ACROSS)
_RIDGE = _product(_ALONG, np.zeros(1))
_INTERPOLATION = np.kron(_quadratic(_ALONG), _quadratic(_ACROSS))
_PENALTY = _INERTIA * (_POINTS**2).sum(axis=1)

"""Every experiment of the paper, by name: what is run, on which problems, and for which figure or table.

A new experiment is a new entry of `PLANS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tcgp.methods.published import PAPER
from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan.methods import Method
from tcgp_experiments.plan.published import METRICS, TABLE_PROBLEMS
from tcgp_experiments.plan.tasks import FixedTask, Row, RunTask

__all__ = [
    "DEFAULT_TARGET",
    "PLANS",
    "TARGETS",
    "CalibrationPlan",
    "OptimizationPlan",
    "PicturePlan",
    "Plan",
    "get",
]

_MARK = "-as-published"  # on names of results and pages


@dataclass(frozen=True)
class CalibrationPlan:
    """Models on fixed data sets of 30 d uniform points, scored below a threshold on test points.

    Attributes
    ----------
    name, title : str
    mirrors : str
        What it reproduces in the paper.
    problems : tuple of str
    rows : tuple of Row
        Methods, each with the quantile level below which it is scored.
    rows_name : str
        Name of the rows in the path of the results.
    metrics : tuple of str
        The scores that are shown.
    replicates : int
        Data sets for each problem.
    as_published : bool
        Whether every choice is the paper's.
    """

    name: str
    title: str
    mirrors: str
    problems: tuple[str, ...]
    rows: tuple[Row, ...]
    rows_name: str
    metrics: tuple[str, ...] = METRICS
    replicates: int = 100
    as_published: bool = False

    def tasks(self) -> Iterator[FixedTask]:
        """Tasks, one replicate of everything after the other."""
        for replicate in range(self.replicates):
            for problem in self.problems:
                yield FixedTask(problem, replicate, self.rows, self.rows_name)

    @property
    def page(self) -> str:
        """Name of its page of results."""
        return f"{self.name}{_MARK if self.as_published else ''}"

    @property
    def command(self) -> str:
        """Its arguments of ``tcgp experiment run``."""
        return f"{self.name} --as-published" if self.as_published else self.name


@dataclass(frozen=True)
class OptimizationPlan:
    """Optimization runs: each method from the same initial designs of 10 d uniform points.

    Attributes
    ----------
    name, title : str
    mirrors : str
        What it reproduces in the paper.
    problems : tuple of str
    methods : tuple of Method
    criterion : {"ei", "lcb"}
    iterations : int
        Evaluations after the initial design.
    replicates : int
        Runs for each problem and method.
    diagnostics : bool
        Whether the models are scored on test sets during the run.
    layout : {"levels", "calibration", "targets", "seconds"}
        Figure to draw: p_mn alone; with the calibration scores; with the share of runs that reach the target;
        or the seconds per iteration.
    as_published : bool
        Whether every choice is the paper's.
    maximizer : {"multistart", "smc"}
        How the criterion is maximized; peers have their own maximizers.
    """

    name: str
    title: str
    mirrors: str
    problems: tuple[str, ...]
    methods: tuple[Method, ...]
    criterion: str = "ei"
    iterations: int = 100
    replicates: int = 100
    diagnostics: bool = False
    layout: str = "targets"
    as_published: bool = False
    maximizer: str = "multistart"

    def tasks(self) -> Iterator[RunTask]:
        """Tasks, one replicate of everything after the other."""
        for replicate in range(self.replicates):
            for problem in self.problems:
                for method in self.methods:
                    yield self.task(problem, replicate, method)

    def task(self, problem: str, replicate: int, method: Method) -> RunTask:
        """One run of the plan."""
        maximizer = "multistart" if method.is_peer else self.maximizer
        criterion, iterations = self.criterion, self.iterations
        return RunTask(problem, replicate, method, criterion, iterations, self.diagnostics, maximizer)

    @property
    def page(self) -> str:
        """Name of its page of results."""
        mark = _MARK if self.as_published else ""
        return f"{self.name}{mark}" + ("-smc" if self.maximizer == "smc" else "")

    @property
    def command(self) -> str:
        """Its arguments of ``tcgp experiment run``."""
        flags = " --as-published" if self.as_published else ""
        usual = PAPER.maximizer if self.as_published else "multistart"
        return f"{self.name}{flags}" + ("" if self.maximizer == usual else f" --maximizer {self.maximizer}")


@dataclass(frozen=True)
class PicturePlan:
    """A picture that needs no runs."""

    name: str
    title: str
    mirrors: str

    def tasks(self) -> Iterator[RunTask]:
        """Nothing."""
        return iter(())

    @property
    def command(self) -> str:
        """Its arguments of ``tcgp experiment run``."""
        return self.name


Plan = CalibrationPlan | OptimizationPlan | PicturePlan

GP = Method("GP", "gp")
TCGP = Method("tcGP", "tcgp", {"delta": 0.05})
TCGP_OCC = Method("tcGP-occ", "tcgp-occ", {"delta": 0.05})
TCGP_THRES = Method("tcGP-thres", "tcgp-thres", {"delta": 0.05})
REGP = Method("reGP", "regp", {"delta": 0.25})
BCRGP = Method("bcrGP", "bcrgp")
ONGP = Method("onGP", "ongp")

FIVE = (GP, BCRGP, ONGP, REGP, TCGP)
DELTAS = (0.05, 0.1, 0.25, 0.5)

FOUR_FUNCTIONS = ("goldstein-price", "dixon-price4", "rosenbrock6", "ackley4")
TEN_FUNCTIONS = (
    *("ackley4", "ackley10", "cross-in-tray", "dixon-price4", "goldstein-price", "hartmann6"),
    *("michalewicz4", "rosenbrock6", "shekel10", "perm6"),
)

LEVELS = (0.25, 0.1, 0.05)

# A run reaches the target once p_mn is at most this. The paper does not give its targets. These are powers of ten,
# chosen from single runs of GP, tcGP and reGP so that some succeed within 100 iterations and some do not.
TARGETS = {
    "goldstein-price": 1e-5,
    "dixon-price4": 1e-5,
    "rosenbrock6": 1e-5,
    "ackley4": 1e-4,
    "ackley10": 1e-8,
    "cross-in-tray": 1e-6,
    "hartmann6": 1e-8,
    "michalewicz4": 1e-7,
    "shekel10": 1e-10,
    "perm6": 1e-3,
    "dixon-price10": 1e-8,
    "dixon-price20": 1e-8,
    "rosenbrock10": 1e-8,
    "rosenbrock15": 1e-10,
}
DEFAULT_TARGET = 1e-5


def _threshold_rows(**options: str) -> tuple[Row, ...]:
    """Rows of table1: each method calibrated below the quantile at which it is scored."""
    names = (("tcGP", "tcgp"), ("tcGP-occ", "tcgp-occ"), ("tcGP-thres", "tcgp-thres"))
    return tuple(
        Row(level, method)
        for level in LEVELS
        for method in (GP, *(Method(label, name, {"delta": level, **options}) for label, name in names))
    )


def _best_value_rows() -> tuple[Row, ...]:
    """Rows of table2: methods calibrated or relaxed at several levels, all scored below the best value."""
    methods = [GP]
    methods += [Method(f"tcGP δ={delta}", "tcgp", {"delta": delta}) for delta in sorted(LEVELS)]
    methods += [Method(f"reGP δ={delta}", "regp", {"delta": delta}) for delta in sorted(LEVELS)]
    return tuple(Row(0.0, method) for method in methods)


_ALL: tuple[Plan, ...] = (
    PicturePlan("figure1", "GP and tcGP on Forrester's function", "Figure 1"),
    CalibrationPlan(
        "table1",
        "Calibration below t = q_δ,n on fixed data sets",
        "Appendix F.5, tab:occ_tkspit_results",
        TABLE_PROBLEMS,
        _threshold_rows(),
        "quantile",
    ),
    CalibrationPlan(
        "table2",
        "Calibration below the best value on fixed data sets",
        "Appendix F.5, tab:comparison",
        TABLE_PROBLEMS,
        _best_value_rows(),
        "best-value",
    ),
    CalibrationPlan(
        "table1-search",
        "table1 with the paper's search of (β, λ): 900 candidates and Nelder–Mead",
        "Appendix F.5, tab:occ_tkspit_results",
        TABLE_PROBLEMS,
        _threshold_rows(search="paper"),
        "quantile-paper-search",
    ),
    CalibrationPlan(
        "global",
        "Calibration everywhere and below the best value on fixed data sets",
        "Appendix E.5, KS–PIT of bcrGP, of which the paper prints no number",
        TABLE_PROBLEMS,
        tuple(Row(0.0, method) for method in (GP, BCRGP, TCGP)),
        "everywhere",
        metrics=("ks_pit", *METRICS),
    ),
    OptimizationPlan(
        "ablation",
        "Occurrence and thresholded calibration, alone and together",
        "Figure 2 (fig:calibration)",
        ("ackley4", "goldstein-price"),
        (GP, TCGP, TCGP_OCC, TCGP_THRES),
        diagnostics=True,
        layout="calibration",
    ),
    OptimizationPlan(
        "methods",
        "Comparison across methods",
        "Figure 3 (fig:combined)",
        FOUR_FUNCTIONS,
        FIVE,
        layout="levels",
    ),
    OptimizationPlan(
        "rules",
        "Alternative selection criteria for tcGP, δ = 0.1",
        "Appendix F, fig:objective_function",
        FOUR_FUNCTIONS,
        tuple(Method(f"Rule {rule}", "tcgp", {"delta": 0.1, "rule": rule}) for rule in range(4)),
    ),
    OptimizationPlan(
        "delta-regp",
        "Effect of δ on reGP",
        "Appendix F, fig:delta_regp",
        FOUR_FUNCTIONS,
        tuple(Method(f"δ = {delta}", "regp", {"delta": delta}) for delta in DELTAS),
    ),
    OptimizationPlan(
        "delta-tcgp",
        "Effect of δ on tcGP",
        "Appendix F, fig:delta_tcgp",
        FOUR_FUNCTIONS,
        tuple(Method(f"δ = {delta}", "tcgp", {"delta": delta}) for delta in DELTAS),
    ),
    OptimizationPlan(
        "ei-more",
        "EI on ten functions",
        "Appendix F, fig:add_1 and fig:add_2",
        TEN_FUNCTIONS,
        FIVE,
    ),
    OptimizationPlan(
        "ei-highdim",
        "EI in dimensions 10 to 20",
        "Appendix F, fig:add_3",
        ("dixon-price10", "dixon-price20", "rosenbrock10", "rosenbrock15"),
        FIVE,
        iterations=150,
    ),
    OptimizationPlan(
        "ucb",
        "Lower confidence bound, ε = 0.1, on ten functions",
        "Appendix F, fig:add_1_ucb and fig:add_2_ucb",
        TEN_FUNCTIONS,
        FIVE,
        criterion="lcb",
    ),
    OptimizationPlan(
        "timing",
        "Seconds per iteration of each model against n, without the maximization of the criterion",
        "Appendix F, running time of the methods",
        FOUR_FUNCTIONS,
        FIVE,
        layout="seconds",
    ),
)

PLANS: dict[str, Plan] = {plan.name: plan for plan in _ALL}


def get(
    name: str,
    *,
    replicates: int | None = None,
    iterations: int | None = None,
    problems: tuple[str, ...] | None = None,
    methods: tuple[str, ...] | None = None,
    as_published: bool = False,
    maximizer: str | None = None,
) -> Plan:
    """The plan of that name, with changes.

    Parameters
    ----------
    name : str
        A key of `PLANS`.
    replicates, iterations : int, optional
        Replace the plan's numbers.
    problems : tuple of str, optional
        Replace the plan's problems: any that `tcgp_experiments.run.problems.get` knows.
    methods : tuple of str, optional
        Replace the plan's methods: its labels, names of `tcgp.fit_model` with options as in ``"tcgp:delta=0.1"``, or
        peers such as ``"peer:botorch"``. If the first begins with ``"+"``, they are added to the plan's methods.
    as_published : bool
        Every choice as in the paper, for the methods in the paper. Results are stored separately.
    maximizer : {"multistart", "smc"}, optional
        How the criterion of optimization runs is maximized: as in the paper with ``as_published``, otherwise by
        multistart by default.

    Examples
    --------
    >>> from tcgp_experiments.plan import plans
    >>> plan = plans.get("methods", replicates=2, iterations=10, methods=("GP", "tcgp:delta=0.1"))
    >>> len(list(plan.tasks()))
    16
    """
    if name not in PLANS:
        raise ExperimentError(f"there is no experiment {name!r}: take one of {', '.join(PLANS)}")
    plan = PLANS[name]
    if isinstance(plan, PicturePlan):
        return plan
    if replicates is not None:
        plan = replace(plan, replicates=replicates)
    if problems is not None:
        plan = replace(plan, problems=problems)
    if isinstance(plan, CalibrationPlan):
        if iterations is not None or methods is not None:
            raise ExperimentError(
                f"the experiment {name!r} has its own rows, and no iterations: leave both out"
            )
        return _rows_as_published(plan) if as_published else plan
    if iterations is not None:
        plan = replace(plan, iterations=iterations)
    if methods is not None:
        plan = replace(plan, methods=_chosen_methods(plan, methods))
    if as_published:
        chosen = tuple(method.as_published() for method in plan.methods)
        plan = replace(plan, methods=chosen, as_published=True, maximizer=PAPER.maximizer)
    return plan if maximizer is None else replace(plan, maximizer=maximizer)


def _rows_as_published(plan: CalibrationPlan) -> CalibrationPlan:
    """The plan of a table with every choice as in the paper; its results are stored separately."""
    rows = tuple(Row(row.level, row.method.as_published()) for row in plan.rows)
    return replace(plan, rows=rows, rows_name=f"{plan.rows_name}{_MARK}", as_published=True)


def _chosen_methods(plan: OptimizationPlan, texts: tuple[str, ...]) -> tuple[Method, ...]:
    """Methods named by the user, after those of the plan if the user adds to them."""
    own = {method.label: method for method in plan.methods}
    added = texts[0].startswith("+")
    texts = (texts[0].lstrip("+"), *texts[1:])
    chosen = [own[text] if text in own else Method.parse(text) for text in texts]
    return tuple(dict.fromkeys([*plan.methods, *chosen] if added else chosen))

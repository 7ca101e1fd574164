"""Evaluations that tcGP and auto need for what BoTorch and Optuna reach, from the same designs.

    python benchmarks/efficiency/evaluations_needed.py run [--seeds 10] [--methods tcgp auto ...] [--jobs 1]
    python benchmarks/efficiency/evaluations_needed.py report [--store FILE] [--at 100]

Four of the paper's functions, n0 = 10 d uniform points, and eight others, n0 = 3 d. Runs are those of auto.py, in its
store. For each function only the seeds count that all four methods have run for n0 + ``--at`` evaluations. "ours" is
the number of evaluations after n0 that our median curve (over seeds, of the best value so far) needs to be as good as
the peer's at its end, and "its" the number that the peer's needs to be as good as ours. Wins and losses are of final
values, seed by seed, and p is of a signed-rank test. Regrets, what is solved, and "better" and "worse" (p < 0.05; by
medians with fewer than six seeds) are as in auto.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

import auto
import functions
from runs import load, make_runs

OURS = ("tcgp", "auto")
PEERS = ("peer:botorch", "peer:optuna")
LABELS = {
    "tcgp": "tcGP",
    "auto": "auto",
    "peer:botorch": "BoTorch LogEI",
    "peer:optuna": "Optuna GPSampler",
}
COLORS = {"tcgp": "#D55E00", "auto": "#0072B2", "peer:botorch": "#555555", "peer:optuna": "#009E73"}
PAPERS = ("goldstein-price", "dixon-price4", "rosenbrock6", "ackley4")
OTHERS = (
    "branin", "six-hump-camel", "levy5", "griewank5", "styblinski-tang5", "schwefel2", "rastrigin4", "bbob:f8:d5:i1",
)  # fmt: skip
PER_DIMENSION = dict.fromkeys(PAPERS, 10) | dict.fromkeys(OTHERS, 3)
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "efficiency.png"

Curves = dict[str, np.ndarray]  # method: log10 regrets (seeds, 1 + at), seeds in the same order


def paired_curves(runs: auto.Runs, name: str, at: int) -> Curves | None:
    """The curves of all methods on the seeds that all have run, if there are any."""
    n0 = PER_DIMENSION[name] * functions.get(name).dim
    found = {
        method: {s: c[: at + 1] for s, c in auto.curves(runs, name, method, n0).items() if len(c) > at}
        for method in (*OURS, *PEERS)
    }
    found = auto.common_seeds(found)
    if not found[OURS[0]]:
        return None
    return {method: np.array([found[method][s] for s in sorted(found[method])]) for method in found}


def evaluations_needed(mine: np.ndarray, theirs: np.ndarray) -> int | None:
    """Evaluations after which our median curve is as good as theirs at its end; None if it never is."""
    reached = np.median(mine, axis=0) <= np.median(theirs[:, -1]) + 1e-9
    return int(np.argmax(reached)) if reached.any() else None


def report(curves: dict[str, Curves], at: int) -> str:
    """Markdown: final regrets, and each of ours against each peer."""
    methods = (*OURS, *PEERS)
    finals = {
        name: {method: dict(enumerate(c[method][:, -1])) for method in methods} for name, c in curves.items()
    }
    parts = [f"### n0 + {at}, {len(curves)} functions\n", auto.regret_table(finals, methods)]
    for mine in OURS:
        for peer in PEERS:
            parts.append(compare(curves, mine, peer, at))
    return "\n".join(parts)


def compare(curves: dict[str, Curves], mine: str, peer: str, at: int) -> str:
    """One of ours against a peer, function by function, with the functions where it loses."""
    lines = [
        f"| {LABELS[mine]} against {LABELS[peer]} | seeds | ours, of {at} | its, of {at} | won : tied : lost | p | |",
        "|---" * 7 + "|",
    ]
    shares, verdicts, never = [], [], 0
    for name, c in curves.items():
        difference = c[peer][:, -1] - c[mine][:, -1]  # positive: ours is better
        needed = evaluations_needed(c[mine], c[peer])
        never += needed is None
        shares.append(1.0 if needed is None else max(needed, 1) / at)
        won, lost = int((difference > 0).sum()), int((difference < 0).sum())
        p = wilcoxon(difference).pvalue if difference.any() else 1.0
        significant = auto.verdict(difference)
        verdicts.append((name, won - lost, significant))
        word = {1: "better", 0: "", -1: "**worse**"}[significant]
        lines.append(
            f"| {name} | {len(difference)} | {_number(needed)} | "
            f"{_number(evaluations_needed(c[peer], c[mine]))} | "
            f"{won} : {len(difference) - won - lost} : {lost} | {p:.2g} | {word} |"
        )
    losing = [
        f"{name}{' (worse)' if verdict < 0 else ''}" for name, balance, verdict in verdicts if balance < 0
    ]
    lines += [
        f"\nGeometric mean of the shares of {at} evaluations: {np.exp(np.mean(np.log(shares))):.2f}, where never "
        f"counts as 1 ({never} of {len(shares)}). Better on {sum(v > 0 for *_, v in verdicts)}, worse on "
        f"{sum(v < 0 for *_, v in verdicts)}. More seeds lost than won on: {', '.join(losing) or 'none'}.\n"
    ]
    return "\n".join(lines)


def _number(evaluations: int | None) -> str:
    return "never" if evaluations is None else str(evaluations)


def draw(curves: dict[str, Curves], picture: Path) -> None:
    """Median regrets with quartiles against evaluations, one panel per function."""
    from matplotlib.figure import Figure

    rows = -(-len(curves) // 4)
    figure = Figure(figsize=(13.0, 2.7 * rows), layout="constrained")
    axes = np.ravel(figure.subplots(rows, min(len(curves), 4), squeeze=False))
    for ax, (name, by_method) in zip(axes, curves.items(), strict=False):
        for method, c in by_method.items():
            low, median, high = 10.0 ** np.quantile(c, [0.25, 0.5, 0.75], axis=0)
            n = np.arange(len(median))
            ax.plot(n, median, color=COLORS[method], label=LABELS[method], lw=1.6)
            ax.fill_between(n, low, high, color=COLORS[method], alpha=0.12, lw=0)
        ax.set(yscale="log", title=f"{name} ({len(c)} seeds)")
        ax.grid(alpha=0.25)
    for ax in axes[len(curves) :]:
        ax.remove()
    figure.supxlabel("evaluations after the initial design")
    figure.supylabel("regret, of that of a random point")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=130)


def main() -> None:
    arguments = _arguments()
    if arguments.command == "run":
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        for names, per_dimension in ((PAPERS, 10), (OTHERS, 3)):
            tasks = auto.plan(names, arguments.methods, seeds, arguments.at, per_dimension)
            make_runs(auto.optimize, tasks, arguments.jobs, arguments.store)
        return
    runs = load(arguments.store)
    curves = {name: paired_curves(runs, name, arguments.at) for name in PER_DIMENSION}
    missing = [name for name, c in curves.items() if c is None]
    curves = {name: c for name, c in curves.items() if c is not None}
    if missing:
        print(f"No seed that all methods have run on: {', '.join(missing)}\n")
    if curves:
        print(report(curves, arguments.at))
        draw(curves, arguments.picture)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--methods", nargs="+", default=[*OURS, *PEERS])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--at", type=int, default=100, help="evaluations after the initial design")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, default=auto.STORE)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    return parser.parse_args()


if __name__ == "__main__":
    main()

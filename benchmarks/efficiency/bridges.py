"""What tail calibration buys inside Optuna, BoTorch and Ax: same problems, same designs, same budgets.

    python benchmarks/efficiency/bridges.py run [--store FILE]      (hours; stop and repeat at will)
    python benchmarks/efficiency/bridges.py report [--store FILE]   (tables into docs/bridges, and pictures)
    python benchmarks/efficiency/bridges.py devices                 (BoTorch functions: CPU, CUDA and the core)

A run evaluates the paper's initial design of 10 uniform points per dimension, the same for all methods of a
seed, and then lets each method choose. In Optuna the methods are samplers: ours, as it is and with the paper's
method, and `GPSampler`, all told that the objective is deterministic. In BoTorch they share the model, its fit and
the maximizer, and differ in the acquisition function alone: ours and `LogExpectedImprovement`. In Ax they are our
node, as it is and with the paper's method, and the strategy that Ax chooses itself (``--hosts ax``; not part of the
default). Each run is one line in the store; its ``steps`` are
those of runs.py, from the first evaluation on.
"""

from __future__ import annotations

import argparse
import csv
import pathlib
import re
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import numpy as np

import tcgp
from runs import decode, encode

PROBLEMS = ("goldstein-price", "dixon-price4")
DOCS = pathlib.Path(__file__).parents[2] / "docs" / "bridges"
STORE = pathlib.Path(__file__).parent / "results" / "bridges.csv"
COLUMNS = ("host", "method", "problem", "seed", "evaluations", "seconds", "steps")
COLORS = {"ours": "tab:blue", "tcgp": "tab:green", "theirs": "tab:orange"}

Design = np.ndarray
Values = list[float]


def initial_design(problem: tcgp.problems.Problem, seed: int) -> Design:
    """Ten uniform points per dimension."""
    low, high = np.asarray(problem.bounds, dtype=float).T
    return np.random.default_rng(seed).uniform(low, high, (10 * len(low), len(low)))


# ---- the hosts ----

OURS = {"ours": "auto", "tcgp": "tcgp"}  # our methods in Optuna and Ax


def run_optuna(method: str, problem: tcgp.problems.Problem, seed: int, n_evals: int) -> Values:
    """Optuna with our sampler, or with its own."""
    import optuna

    from tcgp.integrations.optuna import TailCalibratedSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    design = initial_design(problem, seed)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    if method in OURS:
        sampler = TailCalibratedSampler(seed, OURS[method], n_startup_trials=len(design))
    else:
        sampler = optuna.samplers.GPSampler(
            seed=seed, n_startup_trials=len(design), deterministic_objective=True
        )
    study = optuna.create_study(sampler=sampler)
    for x in design:
        study.enqueue_trial({f"x{i}": value for i, value in enumerate(x)})

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_float(f"x{i}", low, high) for i, (low, high) in enumerate(problem.bounds)]
        return float(problem(np.array(x)))

    study.optimize(objective, n_trials=n_evals)
    return [trial.value for trial in study.trials]


def run_botorch(method: str, problem: tcgp.problems.Problem, seed: int, n_evals: int) -> Values:
    """The loop of BoTorch's tutorials with one of two acquisition functions."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    from tcgp.integrations.botorch import TailCalibratedLogExpectedImprovement, calibrate

    warnings.simplefilter("ignore")  # of failed line searches, in either method
    torch.manual_seed(seed)
    bounds = torch.tensor(np.asarray(problem.bounds, dtype=float).T)
    X = torch.tensor(initial_design(problem, seed))
    Y = -torch.tensor(problem.fun(X.numpy()))[:, None]  # BoTorch maximizes
    law = None
    while len(Y) < n_evals:
        noise = torch.full_like(Y, 1e-6) * Y.var()
        model = SingleTaskGP(X, Y, train_Yvar=noise, input_transform=Normalize(X.shape[1], bounds=bounds))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        if method == "ours":
            law = calibrate(model, previous=law)
            acquisition = TailCalibratedLogExpectedImprovement(model, Y.max(), law)
        else:
            acquisition = LogExpectedImprovement(model, Y.max())
        x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
        X = torch.cat([X, x])
        Y = torch.cat([Y, -torch.tensor(problem.fun(x.numpy()))[:, None]])
    return (-Y[:, 0]).tolist()


def run_ax(method: str, problem: tcgp.problems.Problem, seed: int, n_evals: int) -> Values:
    """Ax with our node, or with the strategy that it chooses itself."""
    import logging

    from ax import Client, RangeParameterConfig
    from ax.generation_strategy.generation_strategy import GenerationStrategy
    from ax.utils.common.logger import set_ax_logger_levels

    from tcgp.integrations.ax import TailCalibratedNode

    set_ax_logger_levels(logging.ERROR)
    warnings.simplefilter("ignore")
    design = initial_design(problem, seed)
    names = [f"x{i}" for i in range(len(problem.bounds))]
    client = Client(random_seed=seed)
    client.configure_experiment(
        [
            RangeParameterConfig(name=name, bounds=(float(low), float(high)), parameter_type="float")
            for name, (low, high) in zip(names, problem.bounds, strict=True)
        ]
    )
    client.configure_optimization(objective="-loss")
    if method in OURS:
        node = TailCalibratedNode(seed, OURS[method], n_initial=len(design))
        client.set_generation_strategy(GenerationStrategy(nodes=[node], name="tail-calibrated"))
    values: Values = []

    def evaluate(index: int, parameters: dict) -> None:
        values.append(float(problem(np.array([parameters[name] for name in names]))))
        client.complete_trial(index, raw_data={"loss": (values[-1], 0.0)})  # no noise

    for x in design:
        parameters = dict(zip(names, x.tolist(), strict=True))
        evaluate(client.attach_trial(parameters=parameters), parameters)
    while len(values) < n_evals:
        for index, parameters in client.get_next_trials(max_trials=1).items():
            evaluate(index, parameters)
    return values


HOSTS: dict[str, Callable[..., Values]] = {"optuna": run_optuna, "botorch": run_botorch, "ax": run_ax}
NAMES = {
    ("ax", "ours"): "`TailCalibratedNode`",
    ("ax", "tcgp"): '`TailCalibratedNode(method="tcgp")`',
    ("ax", "theirs"): "Ax's own choice",
    ("optuna", "ours"): "`TailCalibratedSampler`",
    ("optuna", "tcgp"): '`TailCalibratedSampler(method="tcgp")`',
    ("optuna", "theirs"): "`GPSampler`",
    ("botorch", "ours"): "`TailCalibratedLogExpectedImprovement`",
    ("botorch", "theirs"): "`LogExpectedImprovement`",
}


# ---- running ----


def run(args: argparse.Namespace) -> None:
    """Make every run that the store does not hold yet; each is written when it is done."""
    done = {(r["host"], r["method"], r["problem"], int(r["seed"])) for r in read(args.store)}
    new = not args.store.exists()
    with args.store.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for host, method, name, seed in plan(args):
            if (host, method, name, seed) in done:
                continue
            problem = tcgp.problems.get(name)
            n_evals = 10 * len(problem.bounds) + args.budget
            start = time.perf_counter()
            best = np.minimum.accumulate(HOSTS[host](method, problem, seed, n_evals))
            seconds = time.perf_counter() - start
            steps = encode(best - problem.minimum, first=1)
            writer.writerow([host, method, name, seed, n_evals, round(seconds, 1), steps])
            file.flush()
            print(f"{host} {method} {name} seed {seed}: {best[-1]:.4g} in {seconds:.0f} s", flush=True)


def plan(args: argparse.Namespace) -> Iterator[tuple[str, str, str, int]]:
    for seed in range(args.seeds):
        for name in args.problems:
            for host in args.hosts:
                for method in ("ours", "tcgp", "theirs"):
                    if (host, method) in NAMES:
                        yield host, method, name, seed


def read(path: pathlib.Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


# ---- reporting ----


def report(args: argparse.Namespace) -> None:
    """Write tables between the marks of the pages, and pictures beside them."""
    rows = read(args.store)
    for host in sorted({row["host"] for row in rows}):
        curves, seconds = collect(row for row in rows if row["host"] == host)
        text = table(host, curves, seconds)
        print(text)
        page = DOCS / f"{host}.md"
        picture = f"![gap to the minimum, median and quartiles over the seeds]({host}.svg)"
        page.write_text(between_marks(page.read_text(), f"{text}\n\n{picture}"))
        draw(host, curves, DOCS / f"{host}.svg")


def collect(rows: Iterable[dict[str, str]]) -> tuple[dict, dict]:
    """Best values minus the minimum, (seeds, evaluations), and seconds per run, by problem and method."""
    gaps: dict = defaultdict(list)
    seconds: dict = defaultdict(list)
    for row in rows:
        key = row["problem"], row["method"]
        gaps[key].append(decode(row["steps"], int(row["evaluations"])))
        seconds[key].append(float(row["seconds"]))
    return {key: np.array(curves) for key, curves in gaps.items()}, seconds


def table(host: str, curves: dict, seconds: dict) -> str:
    """Median and quartiles of the best value, for each problem and method, as Markdown."""
    lines = [
        "| problem | method | seeds | evaluations | best value: median (quartiles) | seconds per run |",
        "|---|---|---|---|---|---|",
    ]
    for (name, method), gaps in sorted(curves.items()):
        minimum = tcgp.problems.get(name).minimum
        low, median, high = np.quantile(gaps[:, -1], [0.25, 0.5, 0.75]) + minimum
        time_of_run = np.median(seconds[name, method])  # NaN: not timed alone on the machine
        lines.append(
            f"| {name} (minimum {minimum:g}) | {NAMES[host, method]} | {len(gaps)} "
            f"| {gaps.shape[1]} | {median:.3g} ({low:.3g} – {high:.3g}) "
            f"| {'–' if np.isnan(time_of_run) else f'{time_of_run:.0f}'} |"
        )
    return "\n".join(lines)


def between_marks(page: str, text: str) -> str:
    """The page with ``text`` between its marks."""
    pattern = r"(<!-- benchmark -->\n).*(<!-- end of benchmark -->)"
    return re.sub(pattern, lambda match: f"{match[1]}{text}\n{match[2]}", page, flags=re.DOTALL)


def draw(host: str, curves: dict, path: pathlib.Path) -> None:
    """Median and quartiles of the gap to the minimum, evaluation by evaluation."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tcgp"  # the same picture from the same results
    from matplotlib import pyplot as plt

    names = sorted({name for name, _ in curves})
    figure, axes = plt.subplots(1, len(names), figsize=(4.5 * len(names), 3.2), squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        problem = tcgp.problems.get(name)
        for method in ("theirs", "tcgp", "ours"):
            if (name, method) not in curves:
                continue
            low, median, high = np.quantile(
                np.maximum(curves[name, method], 1e-12), [0.25, 0.5, 0.75], axis=0
            )
            n = np.arange(1, len(median) + 1)
            axis.plot(n, median, color=COLORS[method], label=NAMES[host, method].strip("`"))
            axis.fill_between(n, low, high, color=COLORS[method], alpha=0.2, linewidth=0)
        axis.axvline(10 * len(problem.bounds), color="0.7", linewidth=0.8)
        axis.set(yscale="log", title=name, xlabel="evaluations", ylabel="gap to the minimum")
    axes[0, 0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


# ---- devices ----


def devices(args: argparse.Namespace) -> None:
    """Largest differences between BoTorch functions of the bridge on each device and the core."""
    import gpytorch
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel

    from tcgp.criteria import ExpectedImprovement, LogExpectedImprovement, LowerConfidenceBound
    from tcgp.integrations import botorch as bridge
    from tcgp.laws import GeneralizedNormal

    rng = np.random.default_rng(0)
    problem = tcgp.problems.get("hartmann3")
    X, points = rng.random((60, 3)), rng.random((args.points, 3))
    y = problem.fun(X)
    lengthscales, variance, mean = np.array([0.4, 0.6, 0.5]), 1.5, -0.8
    core = tcgp.GaussianProcess(lengthscales=lengthscales, mean=mean, variance=variance).fit(X, y)
    names = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    print("PyTorch", torch.__version__, "|", *(torch.cuda.get_device_name(),) if "cuda" in names else ())

    class Model:
        predict_arrays, predict_slopes = core.predict, core.predict_slopes

    for device in names:
        tensors = [torch.tensor(a, device=device) for a in (X, y[:, None], points[:, None])]
        with gpytorch.settings.min_fixed_noise(double_value=1e-12):
            gp = SingleTaskGP(
                tensors[0],
                tensors[1],
                train_Yvar=torch.full_like(tensors[1], 1e-12),
                covar_module=ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=3)),
                outcome_transform=None,
            ).to(tensors[0])
        gp.covar_module.outputscale = variance
        gp.covar_module.base_kernel.lengthscale = torch.tensor(lengthscales, device=device)
        gp.mean_module.initialize(constant=mean)
        law = bridge.calibrate(gp.eval(), maximize=False)
        print(f"{device}: calibrated law beta {law.beta:.6f}, lambda {law.scale:.6f}, t {law.threshold:.6f}")
        worst: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for beta, scale in [(2.0, 2.0**0.5), (0.1, 0.005), (0.4, 0.1), (1.0, 0.7), (3.0, 2.0), (10.0, 10.0)]:
            Model.law = GeneralizedNormal(beta, scale)
            on_device = bridge.GeneralizedNormal(beta, scale)
            pairs = {
                "log EI": (
                    LogExpectedImprovement(Model, y.min()),
                    bridge.TailCalibratedLogExpectedImprovement(gp, y.min(), on_device, maximize=False),
                ),
                "EI": (
                    ExpectedImprovement(Model, y.min()),
                    bridge.TailCalibratedExpectedImprovement(gp, y.min(), on_device, maximize=False),
                ),
                "LCB": (
                    LowerConfidenceBound(Model, 0.1),
                    bridge.TailCalibratedUpperConfidenceBound(gp, on_device, maximize=False),
                ),
            }
            for name, (criterion, acquisition) in pairs.items():
                expected = criterion.value_and_gradient(points)
                x = tensors[2].clone().requires_grad_()
                value = acquisition(x)
                (gradient,) = torch.autograd.grad(value.sum(), x)
                found = value.detach().cpu().numpy(), gradient[:, 0].cpu().numpy()
                for i in range(2):
                    scale_of = np.maximum(np.abs(expected[i]), 1e-3 * np.abs(expected[i]).max())
                    worst[name][i] = max(
                        worst[name][i], float((np.abs(found[i] - expected[i]) / scale_of).max())
                    )
        for name, (value_error, gradient_error) in worst.items():
            print(f"{device}: {name:6s} values to {value_error:.1e}, gradients to {gradient_error:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, command in (("run", run), ("report", report)):
        sub = commands.add_parser(name)
        sub.set_defaults(command=command)
        sub.add_argument("--store", type=pathlib.Path, default=STORE)
        if command is run:
            sub.add_argument("--seeds", type=int, default=10)
            sub.add_argument("--budget", type=int, default=60, help="evaluations after the initial design")
            sub.add_argument("--problems", nargs="+", default=list(PROBLEMS))
            sub.add_argument("--hosts", nargs="+", default=["optuna", "botorch"], choices=list(HOSTS))
    sub = commands.add_parser("devices")
    sub.set_defaults(command=devices)
    sub.add_argument("--points", type=int, default=500)
    args = parser.parse_args()
    args.command(args)


if __name__ == "__main__":
    main()

"""A regressor for scikit-learn whose predictions can be trusted below a low threshold.

python examples/sklearn_regressor.py [--figure FILE]
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tcgp
from tcgp import scoring
from tcgp.integrations.sklearn import TailCalibratedRegressor

METHODS = {"gp": "Gaussian process", "tcgp": "tail-calibrated"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figure", default=None)
    args = parser.parse_args()
    problem = tcgp.problems.get("goldstein-price")
    rng = np.random.default_rng(0)
    X, X_test = rng.uniform(-2.0, 2.0, (60, 2)), rng.uniform(-2.0, 2.0, (4000, 2))
    y, y_test = problem.fun(X), problem.fun(X_test)

    scores = cross_val_score(make_pipeline(StandardScaler(), TailCalibratedRegressor()), X, np.log(y), cv=5)
    print("cross-validation in a pipeline, R² of log y:", scores.round(2))

    thresholds = np.quantile(y_test, np.linspace(0.005, 0.15, 30))
    actual = np.array([(y_test <= t).mean() for t in thresholds])
    predicted = {}
    for method, name in METHODS.items():
        regressor = TailCalibratedRegressor(method, bounds=problem.bounds).fit(X, y)
        laws = regressor.predict_distribution(X_test)
        t = regressor.threshold_
        print(
            f"{name}: {laws.cdf(t).mean():.1%} of the values are predicted below {t:.0f}, and "
            f"{(y_test <= t).mean():.1%} are; tKS–PIT {scoring.tks_pit(laws, y_test, t):.2f}"
        )
        predicted[name] = np.array([laws.cdf(t).mean() for t in thresholds])
    if args.figure:
        draw(args.figure, actual, predicted)


def draw(path: str, actual: np.ndarray, predicted: dict[str, np.ndarray]) -> None:
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "tcgp"
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(4.5, 3.4))
    axis.plot([0.0, 0.15], [0.0, 0.15], color="0.6", linewidth=0.8, label="as it should be")
    for (name, share), color in zip(predicted.items(), ("tab:orange", "tab:blue"), strict=True):
        axis.plot(actual, share, color=color, label=name)
    axis.set(xlabel="share of values below a threshold", ylabel="predicted share")
    axis.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()

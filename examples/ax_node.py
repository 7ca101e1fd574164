"""A tail-calibrated generation node in an Ax experiment, which is saved and reloaded halfway.

python examples/ax_node.py
"""

from __future__ import annotations

import argparse
import logging
import math
import pathlib
import tempfile

from ax import ChoiceParameterConfig, Client, RangeParameterConfig
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.utils.common.logger import set_ax_logger_levels

from tcgp.integrations.ax import TailCalibratedNode


def loss(step: float, order: int, scheme: str) -> float:
    """A stand-in for an expensive simulation."""
    error = step**order + 1e-6 / step
    cost = order / step * (3.0 if scheme == "implicit" else 1.0)
    unstable = 50.0 * max(step - 0.1, 0.0) if scheme == "explicit" else 0.0
    return 1e3 * error + 1e-2 * cost + unstable


def run(client: Client, n: int) -> None:
    for _ in range(n):
        for index, parameters in client.get_next_trials(max_trials=1).items():
            value = loss(**parameters)
            if math.isfinite(value):
                client.complete_trial(index, raw_data={"loss": value})
            else:
                client.mark_trial_failed(index)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n-trials", type=int, default=40)
    args = parser.parse_args()
    set_ax_logger_levels(logging.WARNING)
    client = Client()
    client.configure_experiment(
        [
            RangeParameterConfig(name="step", bounds=(1e-4, 1.0), parameter_type="float", scaling="log"),
            RangeParameterConfig(name="order", bounds=(1, 5), parameter_type="int"),
            ChoiceParameterConfig(
                name="scheme", values=["explicit", "implicit"], parameter_type="str", is_ordered=False
            ),
        ]
    )
    client.configure_optimization(objective="-loss")
    node = TailCalibratedNode(seed=0, n_initial=15)  # the lines that change
    client.set_generation_strategy(GenerationStrategy(nodes=[node], name="tail-calibrated"))
    run(client, args.n_trials // 2)
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder) / "experiment.json")
        client.save_to_json_file(path)
        client = Client.load_from_json_file(path)
    run(client, args.n_trials - args.n_trials // 2)
    parameters, value, _, _ = client.get_best_parameterization(use_model_predictions=False)
    print(f"best value {value['loss']} at {parameters}")
    last = client._generation_strategy._nodes[0].trace[-1]
    print(f"last model: {last['method']}, threshold {last['threshold']:.4g}, log EI {last['log_ei']:.3g}")


if __name__ == "__main__":
    main()

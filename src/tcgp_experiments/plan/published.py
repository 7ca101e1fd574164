"""The numbers of the paper's two tables, as printed there."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["METRICS", "TABLE1", "TABLE2", "TABLE_PROBLEMS", "Printed", "printed_cell"]

TABLE_PROBLEMS = ("goldstein-price", "rosenbrock6", "hartmann6", "dixon-price4", "ackley4")
METRICS = ("twcrps", "occurrence", "tks_pit")

# Each row: for each function, twCRPS, occurrence discrepancy and tKS-PIT. Keyed by the level of the threshold
# and the label of the method.
TABLE1: dict[tuple[float, str], str] = {
    (0.25, "GP"): "6.9e2 0.04 0.64  6.0e3 0.01 0.16  0.049 0.095 0.15  2.7e2 0.0059 0.16  0.12 0.093 0.14",
    (0.25, "tcGP"): "5.7e2 0.036 0.27  6.0e3 0.01 0.14  0.052 0.06 0.28  2.6e2 0.0059 0.13  0.12 0.027 0.24",
    (0.25, "tcGP-occ"): (
        "6.1e2 0.036 0.52  8.9e3 0.0095 0.36  0.059 0.046 0.79  4.3e2 0.0071 0.42  0.13 0.018 0.51"
    ),
    (
        0.25,
        "tcGP-thres",
    ): "5.8e2 0.036 0.27  6e3 0.01 0.14  0.05 0.11 0.15  2.6e2 0.0059 0.13  0.12 0.078 0.13",
    (0.1, "GP"): "6.0e2 0.11 0.83  2.8e3 0.011 0.3  0.027 0.018 0.27  1.1e2 0.0047 0.22  0.063 0.042 0.19",
    (
        0.1,
        "tcGP",
    ): "5.1e2 0.065 0.48  2.8e3 0.011 0.27  0.027 0.021 0.24  1.0e2 0.0051 0.19  0.066 0.021 0.25",
    (0.1, "tcGP-occ"): (
        "5.2e2 0.065 0.68  3.4e3 0.011 0.58  0.031 0.01 0.67  1.6e2 0.0057 0.44  0.071 0.012 0.52"
    ),
    (0.1, "tcGP-thres"): (
        "5.1e2 0.065 0.41  2.9e3 0.011 0.27  0.031 0.096 0.12  1.0e2 0.0053 0.19  0.085 0.12 0.19"
    ),
    (0.05, "GP"): "5.8e2 0.16 0.91  1.8e3 0.023 0.39  0.016 0.0088 0.39  56 0.005 0.32  0.042 0.014 0.29",
    (0.05, "tcGP"): "5e2 0.089 0.65  1.8e3 0.02 0.34  0.016 0.016 0.18  55 0.0054 0.26  0.044 0.025 0.28",
    (
        0.05,
        "tcGP-occ",
    ): "4.9e2 0.09 0.75  2.1e3 0.02 0.61  0.017 0.011 0.39  64 0.0056 0.48  0.045 0.011 0.42",
    (
        0.05,
        "tcGP-thres",
    ): "4.9e2 0.089 0.62  1.8e3 0.02 0.31  0.023 0.09 0.15  56 0.0059 0.27  0.14 0.16 0.22",
}

# At t = m_n: level 0 of the quantile.
TABLE2: dict[tuple[float, str], str] = {
    (0.0, "GP"): "5.7e2 0.2 0.99  6.8e2 0.036 0.77  0.0016 0.0043 0.61  16 0.015 0.83  0.012 0.0061 0.72",
    (0.0, "tcGP δ=0.05"): (
        "4.9e2 0.12 0.78  6.2e2 0.027 0.56  0.0015 0.0033 0.33  14 0.011 0.68  0.012 0.0047 0.49"
    ),
    (0.0, "tcGP δ=0.1"): (
        "4.8e2 0.12 0.72  6.3e2 0.03 0.62  0.0015 0.004 0.59  15 0.012 0.74  0.012 0.0059 0.66"
    ),
    (0.0, "tcGP δ=0.25"): (
        "4.5e2 0.13 0.87  6.2e2 0.031 0.67  0.0016 0.0044 0.83  14 0.012 0.73  0.012 0.0063 0.64"
    ),
    (0.0, "reGP δ=0.05"): (
        "1.9 0.021 0.77  39 0.0039 0.66  0.0042 0.0048 0.89  5.3 0.0047 0.74  0.013 0.0046 0.95"
    ),
    (
        0.0,
        "reGP δ=0.1",
    ): "2.9 0.019 0.61  54 0.0035 0.43  0.0038 0.0038 0.84  11 0.0055 0.66  0.013 0.0043 0.89",
    (0.0, "reGP δ=0.25"): (
        "6.7 0.029 0.69  4.1e2 0.018 0.79  0.0018 0.0032 0.72  25 0.015 0.82  0.012 0.006 0.76"
    ),
}


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it.

    Attributes
    ----------
    text : str
    value : float
    rounding : float
        Half a unit of the second significant digit: all cells are rounded to two, some with a trailing zero
        left out.
    """

    text: str
    value: float
    rounding: float


def printed_cell(table: dict[tuple[float, str], str], level: float, label: str, place: int) -> Printed | None:
    """The cell of a row at a place (function by function, three metrics each); None where there is no such row.

    Examples
    --------
    >>> from tcgp_experiments.plan.published import TABLE1, printed_cell
    >>> printed_cell(TABLE1, 0.05, "tcGP", 3)
    Printed(text='1.8e3', value=1800.0, rounding=50.0)
    """
    row = table.get((level, label))
    if row is None:
        return None
    text = row.split()[place]
    value = float(text)
    return Printed(text, value, 0.5 * 10.0 ** (math.floor(math.log10(value)) - 1))

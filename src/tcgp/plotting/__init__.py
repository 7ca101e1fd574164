"""Views of models and of optimization runs, with matplotlib (``pip install matplotlib``).

Functions of one view draw into ``ax``, by default that of a new figure, and return it; functions of several return a
new `matplotlib.figure.Figure`.
Nothing is shown and nothing is left behind in pyplot: save the figure, or let a notebook display it.
matplotlib is imported when the first picture is drawn.
"""

from tcgp.plotting.fronts import plot_front
from tcgp.plotting.models import plot_leave_one_out, plot_pit, plot_tpit
from tcgp.plotting.pairs import plot_partial_dependence, plot_samples
from tcgp.plotting.runs import plot_calibration_history, plot_convergence, plot_result

__all__ = [
    "plot_calibration_history",
    "plot_convergence",
    "plot_front",
    "plot_leave_one_out",
    "plot_partial_dependence",
    "plot_pit",
    "plot_result",
    "plot_samples",
    "plot_tpit",
]

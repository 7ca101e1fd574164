"""A maximizer confined to a box."""

from __future__ import annotations

import numpy as np

from tcgp.maximize import multistart
from tcgp.maximize.local import within


class Peaks:
    """Two peaks: the higher at 0.9, the lower at 0.2, in every coordinate."""

    centres, heights, widths = np.array([0.9, 0.2]), np.array([2.0, 1.0]), np.array([0.05, 0.1])

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away = (X[:, None, :] - self.centres[:, None]) / self.widths[:, None]
        each = self.heights * np.exp(-0.5 * np.sum(away**2, axis=2))
        return each.sum(axis=1), -np.einsum("mk,mkd->md", each / self.widths, away)


LOW, HIGH = np.array([0.1, 0.0]), np.array([0.4, 0.3])


def test_the_maximum_is_that_of_the_box() -> None:
    anchors = np.array([[0.9, 0.9], [0.3, 0.1]])
    everywhere = multistart.maximize(Peaks(), 2, rng=0, anchors=anchors)
    np.testing.assert_allclose(everywhere.x, 0.9, atol=1e-4)
    found = within(LOW, HIGH, multistart.maximize)(Peaks(), 2, rng=0, anchors=anchors)
    np.testing.assert_allclose(found.x, 0.2, atol=1e-4)
    np.testing.assert_allclose(found.value, Peaks()(found.x[None])[0])


def test_all_candidates_lie_in_the_box_and_have_their_values() -> None:
    found = within(LOW, HIGH, multistart.maximize)(Peaks(), 2, rng=1, anchors=np.array([[0.39, 0.01]]))
    assert ((found.candidates >= LOW) & (found.candidates <= HIGH)).all()
    np.testing.assert_allclose(found.candidate_values, Peaks()(found.candidates), rtol=1e-12)

"""Check states of fits that come from journals and hosts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tcgp._text import plain

__all__ = ["check_record", "check_state"]


def check_state(state: object, dim: int) -> None:
    """Refuse anything that cannot be the `Model.state` of a model of ``dim`` coordinates; None means no state."""
    if state is None:
        return
    if not isinstance(state, Mapping):
        raise TypeError(f"state must be the state of a model, a mapping, got {plain(state)}")
    lengthscales = state.get("lengthscales")
    if lengthscales is not None and not _are_positive(lengthscales, dim):
        raise ValueError(
            f"the lengthscales of a state must be {dim} positive numbers, got {plain(lengthscales)}"
        )
    kernel = state.get("kernel")
    if kernel is not None:
        _check_kernel(kernel, state.get("method"), dim)
    curvature = state.get("curvature")
    if curvature is not None and not _is_curvature(curvature, state, dim):
        raise ValueError(f"the curvature of a state must be a triangle of numbers, got {plain(curvature)}")
    if not isinstance(state.get("scale", ""), str):
        raise ValueError(f"the scale of a state must be a name, got {plain(state['scale'])}")
    for name in ("threshold", "nugget", "n", "member", "lead", "score", "best"):
        value = state.get(name)
        if value is not None and not (isinstance(value, int | float) and np.isfinite(value)):
            raise ValueError(f"{name} of a state must be a finite number, got {plain(value)}")


def _check_kernel(kernel: object, method: object, dim: int) -> None:
    """Refuse anything that cannot be the parameters of a covariance other than a product."""
    from tcgp.gp.additive import Additive  # load SciPy: a campaign begins without it
    from tcgp.gp.rotated import Rotated

    form = Rotated if method == "tcgp-rotated" else Additive
    size, n = form.size(dim), form.n_positive(dim)
    if not _are_finite(kernel, size) or not _are_positive(kernel[:n], n):  # type: ignore[index]
        others = f" and {size - n} others" if size > n else ""
        raise ValueError(f"the kernel of a state must be {n} positive numbers{others}, got {plain(kernel)}")


def check_record(record: object, dim: int) -> None:
    """Refuse anything that cannot be the record of a fit in ``dim`` coordinates (`Surrogate.fit`); None means no
    record."""
    if record is None:
        return
    if (
        not isinstance(record, dict)
        or type(record.get("n")) is not int
        or not isinstance(record.get("state"), dict)
    ):
        raise ValueError(f"fit must be a mapping with n and state, got {plain(record)}")
    rivals = record.get("rivals", [])
    if not isinstance(rivals, list) or not all(isinstance(state, dict) for state in rivals):
        raise ValueError(f"rivals of a fit must be a list of states, got {plain(rivals)}")
    for state in (record["state"], *rivals):
        check_state(state, dim)


def _is_curvature(numbers: object, state: Mapping[str, object], dim: int) -> bool:
    """Whether these can be the `tcgp.gp.descent.pack` of the curvature in the parameters of a state."""
    kernel = state.get("kernel")
    size = len(kernel) if isinstance(kernel, list | tuple) else dim + ("nugget" in state)
    if not _are_finite(numbers, size * (size + 1) // 2):
        return False
    diagonal = np.cumsum(np.arange(1, size + 1)) - 1
    return all(numbers[i] > 0.0 for i in diagonal)  # type: ignore[index]


def _are_finite(numbers: object, n: int) -> bool:
    return (
        isinstance(numbers, list | tuple)
        and len(numbers) == n
        and all(isinstance(number, int | float) and np.isfinite(number) for number in numbers)
    )


def _are_positive(values: object, n: int) -> bool:
    try:
        array = np.broadcast_to(np.array(values, dtype=float), (n,))
    except (TypeError, ValueError):
        return False
    return bool(np.isfinite(array).all() and (array > 0.0).all())

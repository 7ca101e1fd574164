"""The methods that an experiment compares: models of this package, and peers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcgp.methods.portfolio import METHODS, check_method, options_of
from tcgp.methods.published import Choices, choices_of
from tcgp_experiments.errors import ExperimentError

__all__ = ["PEER_NAMES", "Method"]

PEER = "peer:"

# The libraries that `tcgp_experiments.run.peers` can run.
PEER_NAMES = ("botorch", "optuna", "skopt", "smt", "egobox", "trego", "hebo")

# Options added later, with the value that changes nothing, so that older results stay valid.
LATER = {"selection": "ml", "shortest": 0.1, "longest": 1e3, "least": 0, "as_published": False}


@dataclass(frozen=True, init=False)
class Method:
    """A method with its options and the label it has in figures.

    Two methods are equal if they compute the same, whatever they are called.

    Attributes
    ----------
    label : str
    name : str
        A method of `tcgp.fit_model`, or ``"peer:"`` and the name of another library.
    options : tuple of (str, value)
        Options that differ from the defaults of the method, sorted, so that equal computations have equal files.
    """

    label: str
    name: str
    options: tuple[tuple[str, Any], ...]

    def __init__(self, label: str, name: str, options: Mapping[str, Any] | None = None) -> None:
        settings = _defaults(name)
        for key, value in (options or {}).items():
            if key not in settings:
                known = ", ".join(sorted(settings)) or "no options"
                raise ExperimentError(f"method {name!r} has no option {key!r}: it takes {known}")
            try:
                options_of(name)[key].check(key, value)
            except ValueError as error:
                raise ExperimentError(f"method {name!r}: {error}") from None
        changed = {key: value for key, value in (options or {}).items() if value != settings[key]}
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", tuple(sorted(changed.items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Method) and (self.name, self.options) == (other.name, other.options)

    def __hash__(self) -> int:
        return hash((self.name, self.options))

    @property
    def is_peer(self) -> bool:
        """Whether another library does the work."""
        return self.name.startswith(PEER)

    @property
    def settings(self) -> dict[str, Any]:
        """All options, defaults included: what a result must have been made with."""
        given = {**_defaults(self.name), **dict(self.options)}
        return {key: value for key, value in given.items() if LATER.get(key) != value}

    @property
    def slug(self) -> str:
        """Name of the directory that holds the results."""
        parts = [self.name.replace(":", "-"), *(f"{key}={value}" for key, value in self.options)]
        return re.sub(r"[^A-Za-z0-9=.,_-]", "", ",".join(parts))

    @property
    def choices(self) -> Choices:
        """The choices for these options: the paper's, or ours."""
        return choices_of(dict(self.options))

    def as_published(self) -> Method:
        """The method with every choice as in the paper; methods not in the paper are unchanged."""
        if "as_published" not in _defaults(self.name):
            return self
        return Method(self.label, self.name, {**dict(self.options), "as_published": True})

    @classmethod
    def parse(cls, text: str) -> Method:
        """Read ``"tcgp"``, ``"tcgp:delta=0.1,rule=2"`` or ``"peer:botorch"``.

        Examples
        --------
        >>> from tcgp_experiments.plan.methods import Method
        >>> Method.parse("tcgp:delta=0.1").slug
        'tcgp,delta=0.1'
        """
        if text.startswith(PEER):
            return cls(text.removeprefix(PEER), text)
        name, _, rest = text.partition(":")
        options = {}
        for pair in filter(None, rest.split(",")):
            key, equals, value = pair.partition("=")
            if not equals:
                raise ExperimentError(f"the option {pair!r} of {text!r} lacks a value: write {key}=...")
            options[key.strip()] = _value(value.strip())
        return cls(text, name, options)


def _defaults(name: str) -> dict[str, Any]:
    """Default options of a method; unknown methods are refused here."""
    if name.startswith(PEER):
        if name.removeprefix(PEER) in PEER_NAMES:
            return {}
        known = ", ".join(PEER + peer for peer in PEER_NAMES)
        raise ExperimentError(f"there is no peer {name!r}: take one of {known}")
    try:
        check_method(name)
    except ValueError:
        raise ExperimentError(
            f"there is no method {name!r}: take one of {', '.join(METHODS)}, or peer:..."
        ) from None
    return {key: option.default for key, option in options_of(name).items()}


def _value(text: str) -> Any:
    """A number, true, false or null as JSON reads it; any other text as it is."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text

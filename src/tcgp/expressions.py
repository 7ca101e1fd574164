# stub, replaced at merge
from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np


class Expression:
    def __init__(self, text):
        self.text = text.strip()
        self.names = frozenset([self.text])

    def __call__(self, values):
        return np.asarray(values[self.text])


@dataclass(frozen=True)
class Constraint:
    text: str
    expression: Expression
    lower: float = -math.inf
    upper: float = math.inf

    @property
    def names(self):
        return self.expression.names


def parse_constraint(text):
    m = re.match(r"^\s*(\w+)\s*(<=|>=)\s*([-+.\deE]+)\s*$", text)
    e = Expression(m[1])
    return (
        Constraint(text, e, upper=float(m[3])) if m[2] == "<=" else Constraint(text, e, lower=float(m[3])),
    )

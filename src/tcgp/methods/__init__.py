"""The named methods: recipes, portfolios whose members take turns, and how they are fitted.

Nothing here loads SciPy: `fit` and `surrogate`, which do, are imported where a model is fitted.
"""

from tcgp.methods.options import Option
from tcgp.methods.portfolio import METHODS, PORTFOLIOS, Member, Portfolio
from tcgp.methods.recipes import RECIPES, Recipe

__all__ = ["METHODS", "PORTFOLIOS", "RECIPES", "Member", "Option", "Portfolio", "Recipe"]

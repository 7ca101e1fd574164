"""Integrations with BoTorch, Optuna, scikit-learn, Ax and COCO.

Each integration is a module of this package. It requires its host library (for example, ``pip install optuna``), which
is imported only when the module itself is imported.
"""

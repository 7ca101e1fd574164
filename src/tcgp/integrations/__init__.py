"""Bridges: tail calibration inside BoTorch, Optuna, scikit-learn, Ax and COCO.

Each bridge is a module of this package, needs its host installed (``pip install optuna``, for instance), and
imports it only when the bridge itself is imported.
"""

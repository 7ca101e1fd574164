"""The paper's experiments: plans by name, a runner that can be stopped and resumed, and a report.

>>> from tcgp.experiments import plans
>>> plans.get("methods").mirrors
'Figure 3 (fig:combined)'
"""

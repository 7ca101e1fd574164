"""The paper's experiments: plans by name, a runner that can be stopped and resumed, and a report.

`plan` says what is computed and what the paper claims of it, as plain data. `run` computes it and keeps the
results. `report` makes tables, figures and pages of them. Each imports only from those before it.

>>> from tcgp_experiments.plan import plans
>>> plans.get("methods").mirrors
'Figure 3 (fig:combined)'
"""

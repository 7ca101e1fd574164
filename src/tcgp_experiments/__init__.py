"""The paper's experiments: plans by name, a runner that can be stopped and resumed, and a report.

`plan` describes what is computed and what the paper claims about it, as plain data. `run` computes it and stores the
results. `report` turns them into tables, figures and pages. Each imports only from those before it.

>>> from tcgp_experiments.plan import plans
>>> plans.get("methods").mirrors
'Figure 3 (fig:combined)'
"""

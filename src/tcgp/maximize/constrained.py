# stub, replaced at merge
def rank_constrained(*a, **k):
    raise NotImplementedError

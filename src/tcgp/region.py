# stub, replaced at merge
class Region:
    pass

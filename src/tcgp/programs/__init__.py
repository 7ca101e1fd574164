"""External programs as functions: command lines, processes, and values read from their output."""

from tcgp.programs.cluster import ClusterCrew
from tcgp.programs.command import Template, find_program
from tcgp.programs.crew import ProgramCrew
from tcgp.programs.decks import Deck
from tcgp.programs.objective import Objective, RunFailed
from tcgp.programs.simulator import Run, Simulator

__all__ = [
    "ClusterCrew",
    "Deck",
    "Objective",
    "ProgramCrew",
    "Run",
    "RunFailed",
    "Simulator",
    "Template",
    "find_program",
]

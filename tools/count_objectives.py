"""Count the files of the package that mention objectives although they need not.

    python tools/count_objectives.py

Objectives and limits are both quantities. They differ only where the user names them (goals, settings, the command,
integrations, programs, `minimize`), in criteria, and in results (fronts, sensitivities, reports, pictures). All other
files that mention the word are printed, with the number of lines.
"""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "tcgp"
GOALS = ("goals.py", "record/settings.py")
CRITERIA = ("criteria/", "front/")
RESULTS = ("optimizer/result.py", "optimizer/front.py", "optimizer/outlook.py", "scoring/sensitivity.py")
VIEWS = (*RESULTS, "report/", "plotting/")
DOORS = ("cli/", "integrations/", "programs/", "running/", "optimizer/optimizer.py")


def knowing() -> dict[str, int]:
    """Numbers of lines that mention objectives, by file."""
    counts = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        lines = [
            line
            for line in path.read_text(encoding="utf-8").splitlines()
            if re.search(r"\bobjectives?\b", line)
        ]
        if lines and not name.startswith((*GOALS, *CRITERIA, *VIEWS, *DOORS)):
            counts[name] = len(lines)
    return counts


if __name__ == "__main__":
    found = knowing()
    for file, number in found.items():
        print(f"{number:4} {file}")
    print(f"{len(found)} files")

"""Which files of the package know what an objective is, of those that need not?

    python tools/count_objectives.py

An objective and a limit are quantities alike. They part where the user says what is wanted (goals, settings, and the
doors: the command, hosts, programs, `minimize`), where a criterion weighs them, and where somebody looks (fronts,
results, reports, pictures). All other files that mention the word are printed, with the number of lines that do.
"""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "tcgp"
GOALS = ("goals.py", "record/settings.py")
CRITERIA = ("criteria/", "front/")
VIEWS = ("optimizer/result.py", "optimizer/front.py", "report/", "plotting/")
DOORS = ("cli/", "integrations/", "programs/", "running/", "optimizer/optimizer.py")


def knowing() -> dict[str, int]:
    """Lines that mention objectives, by file, of the files that need not."""
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

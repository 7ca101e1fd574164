"""Campaigns killed at random moments, on full disks, with torn journals: what is lost, and what is evaluated twice.

Each kind of fault is repeated many times on real processes and real files; the checks are those of
tests/reliability/campaigns.py. Prints one line for each kind: how many faults were made, how many evaluations had to be
repeated because they were under way, and what went wrong.

    python benchmarks/reliability/faults.py --kills 100
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "reliability"))

from campaigns import Campaign, in_child

from tcgp import Optimizer
from tcgp.record.journal import JournalError, read_journal

N_EVALS = 60


def kills(directory: Path, workers: int, n_kills: int) -> tuple[int, int, list[str]]:
    """SIGKILL at uniformly random moments, campaign after campaign: faults made, evaluations repeated, troubles."""
    rng = np.random.default_rng(workers)
    whole = Campaign(directory / f"whole{workers}", 1, N_EVALS)
    whole.directory.mkdir()
    whole.run()
    done, repeated, troubles = 0, 0, []
    for i in range(n_kills):  # campaigns: each takes several kills
        campaign = Campaign(directory / f"kill{workers}-{i}", workers, N_EVALS)
        campaign.directory.mkdir()
        while done + campaign.n_kills < n_kills and not campaign.run_for(rng.uniform(0.0, 0.15)):
            pass
        troubles += campaign.finish()
        troubles += [f"process {pid} was left over" for pid in campaign.leftover_processes()]
        if workers == 1 and campaign.points() != whole.points():
            troubles.append("the points differ from those of an undisturbed run")
        done += campaign.n_kills
        repeated += campaign.repetitions()
        if done >= n_kills:
            break
    return done, repeated, troubles


def full_disks(directory: Path, workers: int) -> tuple[int, int, list[str]]:
    """A limit on the size of files, at 40 places: what is beyond it is cut off, and the rest fails to be written."""
    troubles: list[str] = []
    campaign = Campaign(directory / f"full{workers}", workers, N_EVALS)
    campaign.directory.mkdir()
    sizes = np.unique(np.linspace(200, 12_000, 40).astype(int)).tolist()
    for size in sizes:
        child = in_child(lambda size=size: _run_limited(campaign, size))
        if os.waitpid(child, 0)[1]:
            troubles.append(f"no sentence at a limit of {size} bytes")
        campaign.n_kills += 1
        campaign.check()
    troubles += campaign.finish()
    return len(sizes), campaign.repetitions(), troubles


def _run_limited(campaign: Campaign, size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    _run_on_full_disk(campaign)


def _run_on_full_disk(campaign: Campaign) -> None:
    """Expect the error of the journal, or none."""
    try:
        campaign.run()
    except OSError as error:
        if "the journal cannot be written" not in str(error):
            raise


def full_file_systems(directory: Path) -> tuple[int, int, list[str]] | None:
    """A small file system, filled up but for a few pages; None where mounting is not allowed."""
    place = directory / "tmpfs"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        return None
    campaign = Campaign(place, 1, N_EVALS)
    troubles: list[str] = []
    try:
        for n_pages in (15, 14, 13, 12):
            (place / "ballast").write_bytes(b"x" * n_pages * 4096)
            if os.waitpid(in_child(lambda: _run_on_full_disk(campaign)), 0)[1]:
                troubles.append("another error than that of the journal")
            campaign.n_kills += 1
            campaign.check()
        (place / "ballast").unlink()
        troubles += campaign.finish()
    finally:
        subprocess.run(["umount", str(place)], check=False)
    return 4, campaign.repetitions(), troubles


def truncations(directory: Path) -> tuple[int, int, list[str]]:
    """Every prefix of a journal is resumed."""
    campaign = Campaign(directory / "torn", 1, 15)
    campaign.directory.mkdir()
    campaign.run()
    raw = campaign.journal.read_bytes()
    events = [event for _, event in read_journal(campaign.journal).events]
    cut, troubles = directory / "cut.jsonl", []
    for n in range(len(raw) + 1):
        cut.write_bytes(raw[:n])
        n_lines = raw[: n + 1].count(b"\n")
        try:
            with Optimizer.resume(cut, reoffer=False) as optimizer:
                told = [(e["x"], e["y"]) for e in events[: max(n_lines - 1, 0)] if e["event"] == "tell"]
                if [(e.x, e.y) for e in optimizer.evaluations] != told:
                    troubles.append(f"values differ at byte {n}")
        except JournalError:
            if n_lines:
                troubles.append(f"refused at byte {n}")
    return len(raw) + 1, 0, troubles


def rivals(directory: Path, n: int = 20) -> tuple[int, int, list[str]]:
    """Three processes start the same campaign at once, again and again."""
    troubles = []
    for i in range(n):
        campaign = Campaign(directory / f"rivals{i}", 1, 20)
        campaign.directory.mkdir()

        def compete(campaign: Campaign = campaign) -> None:
            with contextlib.suppress(JournalError):
                campaign.run()

        children = [in_child(compete) for _ in range(3)]
        if any(os.waitpid(child, 0)[1] for child in children):
            troubles.append("another error than a refusal")
        troubles += campaign.finish()
        if campaign.repetitions():
            troubles.append("a point was evaluated twice")
    return n, 0, troubles


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100, help="of serial and of parallel runs, each")
    arguments = parser.parse_args()
    logging.getLogger("tcgp").setLevel(logging.ERROR)  # a torn line is expected
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        parts = {
            "SIGKILL, serial": lambda: kills(directory, 1, arguments.kills),
            "SIGKILL, 3 workers": lambda: kills(directory, 3, arguments.kills),
            "limit on files, serial": lambda: full_disks(directory, 1),
            "limit on files, 3 workers": lambda: full_disks(directory, 3),
            "small file system full": lambda: full_file_systems(directory),
            "journal cut after every byte": lambda: truncations(directory),
            "3 processes on one journal": lambda: rivals(directory),
        }
        print("| fault | times | evaluations repeated | wrong |\n|---|---|---|---|")
        for label, part in parts.items():
            outcome = part()
            if outcome is None:
                print(f"| {label} | cannot be made here | | |", flush=True)
                continue
            n, repeated, troubles = outcome
            print(
                f"| {label} | {n} | {repeated} | {'; '.join(sorted(set(troubles))) or 'nothing'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

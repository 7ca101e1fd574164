"""An adversary of journals: threads, copies, forks, and other programs that change the file while it is open.

Used here and in benchmarks/reliability/adversary.py. Whatever is done, in whatever order: every value told is in the
journal or in the rescue file that has taken its place, once, and no other file is touched.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import gc
import itertools
import os
import pickle
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tcgp import Optimizer
from tcgp.optimizer import JournalError, read_campaign
from tcgp.record.file import JournalInUse, JournalRescued
from tcgp.record.journal import read_journal

BOX = [(0.0, 1.0), (-2.0, 3.0)]
FOREIGN = b'{"event": "tell", "id": null, "x": [0.5, 0.5], "y": -1.0, "reason": null, "seconds": null}\n'

# What other programs do to the file. The last two leave it as long as it was, or as it was.
CHANGES = ("replace", "delete", "move", "empty", "cut", "extend", "garble", "touch")
DUPLICATES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}


class Adversary(RuleBasedStateMachine):
    """A user with threads and copies, and other programs that know no locks."""

    cases = 0  # how many were tried

    @initialize(seed=st.integers(0, 1000), relative=st.booleans())
    def begin(self, seed: int, relative: bool) -> None:
        type(self).cases += 1
        self.home = tempfile.TemporaryDirectory()
        self.place = Path(self.home.name)
        self.numbers = itertools.count(1)
        self.directory = os.getcwd()
        os.chdir(self.place)
        journal = Path("run.jsonl") if relative else self.place / "run.jsonl"
        # All proposals are of the initial design: nothing is fitted, and a case takes milliseconds.
        self.optimizer = Optimizer(BOX, n_initial=10**6, initial_design="uniform", rng=seed, journal=journal)
        self.told: dict[tuple[float, ...], float] = {}
        self.journals = {self.place / "run.jsonl"}  # the names that journals of this run have had
        self.others: dict[Path, bytes] = {}  # files that are none of its business, and what is in them
        self.left: dict[Path, bytes | None] = {}  # journals that someone has changed, as he left them
        self.open: list[tuple[int, Path]] = []
        self.copies: list[Optimizer] = []
        self.at_work = False  # as inside tcgp.minimize
        self.changed: bool | None = False  # since the optimizer last looked; None if it may have noticed
        self.write_another_file(keep_open=False)

    def teardown(self) -> None:
        if not hasattr(self, "home"):
            return
        try:
            self.tell_own(1)  # whoever has changed the file last is found out now
            self.promise()
        finally:
            self.close_other_files()
            self.optimizer.close()
            os.chdir(self.directory)
            self.home.cleanup()

    # ---- the user ----

    @rule(n=st.integers(1, 3))
    def ask_and_tell(self, n: int) -> None:
        for _ in range(n):
            x = self._ask()
            self._tell([x], [float(next(self.numbers))])

    @rule(n=st.integers(1, 4))
    def tell_own(self, n: int) -> None:
        numbers = [next(self.numbers) for _ in range(n)]
        self._tell([[1.0 / (1 + k), k % 5 - 2.0] for k in numbers], [float(k) for k in numbers])

    @rule()
    def ask_and_forget(self) -> None:
        self._ask()

    @precondition(lambda self: self.changed is False)
    @rule(close=st.booleans(), reoffer=st.booleans())
    def start_again(self, close: bool, reoffer: bool) -> None:
        before = self.optimizer
        if self.at_work and not close:
            with contextlib.suppress(JournalInUse):
                Optimizer.resume(self._journal())
                raise AssertionError("it was taken away")
            return
        if close:
            before.close()
        self.at_work = False
        self.optimizer = Optimizer.resume(self._journal(), reoffer=reoffer)
        assert self.optimizer.evaluations == before.evaluations
        self._refuses(before)

    @rule()
    def be_at_work(self) -> None:
        """Nobody else in this process may open the journal from here on, as inside tcgp.minimize."""
        self.optimizer.hold()
        self.at_work = True

    @precondition(lambda self: self.changed is False)
    @rule(n=st.integers(1, 3), room=st.integers(0, 300))
    def tell_while_the_disk_is_full(self, n: int, room: int) -> None:
        """The file can grow by some bytes, and then a write is cut off: all are told, or none."""
        numbers = [float(next(self.numbers)) for _ in range(n)]
        points = [[1.0 / (2.0 + k), k % 7 / 2.0 - 0.75] for k in numbers]
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._journal().stat().st_size + room, limit[1]))
        try:
            self.optimizer.tell(points, numbers)
        except OSError:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            self.promise()
            self.optimizer.tell(points, numbers)  # there is room again
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        self.told |= {tuple(x): y for x, y in zip(points, numbers, strict=True)}

    @rule(n_threads=st.integers(2, 4), n=st.integers(1, 3), change=st.sampled_from([None, *CHANGES[:-2]]))
    def use_threads(self, n_threads: int, n: int, change: str | None) -> None:
        """All at once, and meanwhile perhaps another program."""
        change, path = None if self.changed else change, self._journal()
        together = threading.Barrier(n_threads + 1)
        done: list[tuple[list[float], float]] = []

        def work() -> None:
            together.wait()
            for _ in range(n):
                x, y = self._ask_at_any_time(), float(next(self.numbers))
                with contextlib.suppress(JournalRescued):  # it is told all the same
                    self.optimizer.tell(x, y)
                done.append((x, y))

        with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
            futures = [pool.submit(work) for _ in range(n_threads)]
            together.wait()
            if change is not None:
                time.sleep(0.001 * (len(self.told) % 4))
                self._change(path, change)
            for future in futures:
                future.result()
        assert len({tuple(x) for x, _ in done}) == len(done)
        self.told |= {tuple(x): y for x, y in done}
        self.changed = None
        self.tell_own(1)
        if change is not None:
            self.left[path] = path.read_bytes() if path.exists() else None

    @rule(way=st.sampled_from(sorted(DUPLICATES)))
    def make_a_copy(self, way: str) -> None:
        self.copies.append(DUPLICATES[way](self.optimizer))

    @precondition(lambda self: self.copies)
    @rule()
    def try_a_copy_and_let_it_die(self) -> None:
        twin = self.copies.pop()
        self._refuses(twin)
        twin.close()
        del twin
        gc.collect()
        self.write_another_file(keep_open=True)  # it may get a descriptor that the copy has freed

    @rule()
    def fork(self) -> None:
        child = os.fork()
        if not child:
            signal.alarm(60)
            code = 1
            try:
                self._refuses(self.optimizer)
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0

    # ---- the others ----

    @precondition(lambda self: self.changed is False)
    @rule(change=st.sampled_from(CHANGES))
    def change_the_journal(self, change: str) -> None:
        path = self._journal()
        if change == "garble":
            time.sleep(0.02)  # the time of a change is known to some milliseconds
        self._change(path, change)
        if change == "touch":
            return
        self.changed = True
        self.left[path] = path.read_bytes() if path.exists() else None

    @rule(name=st.sampled_from([".", "below"]))
    def change_directory(self, name: str) -> None:
        """Where a journal of the same name may be, which is none of ours."""
        (self.place / "below").mkdir(exist_ok=True)
        other = self.place / "below" / "run.jsonl"
        if other not in self.others:
            other.write_bytes(b"of somebody else\n")
            self.others[other] = b"of somebody else\n"
        os.chdir(self.place / name)

    @rule(keep_open=st.booleans())
    def write_another_file(self, keep_open: bool) -> None:
        path = self.place / f"other-{len(self.others)}.csv"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self.others[path] = f"table {len(self.others)}\n".encode()
        os.write(fd, self.others[path])
        if keep_open:
            self.open.append((fd, path))
        else:
            os.close(fd)

    @rule()
    def write_on_and_close(self) -> None:
        for fd, path in self.open:
            os.write(fd, b"more\n")
            self.others[path] += b"more\n"
        self.close_other_files()

    def close_other_files(self) -> None:
        for fd, _ in self.open:
            os.close(fd)
        self.open = []

    # ---- what must hold ----

    @invariant()
    def promise(self) -> None:
        if not hasattr(self, "home") or self.changed is not False:
            return
        path = self._journal()
        lines = [event for _, event in read_journal(path).events if event["event"] == "tell"]
        assert Counter(tuple(event["x"]) for event in lines) == Counter(self.told.keys())
        assert {tuple(event["x"]): event["y"] for event in lines} == self.told
        campaign = read_campaign(path)
        assert campaign.history.evaluations == self.optimizer.evaluations
        assert campaign.history.proposals == self.optimizer.history.proposals
        assert campaign.history.pending == self.optimizer.history.pending
        for other, content in self.others.items():
            assert other.read_bytes() == content, "another file was touched"
        for journal, content in self.left.items():
            assert (journal.read_bytes() if journal.exists() else None) == content, (
                "a journal was written to again"
            )
        names = {self.place / "below", *self.others, *self.journals, *self.place.glob("moved-*")}
        assert set(self.place.iterdir()) <= names, "a file came from nowhere"

    # ---- steps ----

    def _journal(self) -> Path:
        assert self.optimizer.journal is not None
        path = self.place / self.optimizer.journal  # it may be named from where it was begun
        self.journals.add(path)
        return path

    def _ask(self) -> list[float]:
        try:
            return self.optimizer.ask()
        except JournalRescued:
            assert self.changed is not False
            self.changed = False
            return self.optimizer.ask()

    def _ask_at_any_time(self) -> list[float]:
        while True:
            try:
                return self.optimizer.ask()
            except JournalRescued:
                pass  # the point is offered again, to this thread or another

    def _tell(self, points: list[Any], values: list[float]) -> None:
        rescued = False
        try:
            self.optimizer.tell(points, values)
        except JournalRescued:
            rescued = True
        assert self.changed in (None, rescued)
        self.changed = False
        self.told |= {tuple(x): y for x, y in zip(points, values, strict=True)}

    def _refuses(self, optimizer: Optimizer) -> None:
        for call in (optimizer.ask, lambda: optimizer.tell([0.25, 0.25], 1.0)):
            try:
                call()
            except JournalError:
                continue
            raise AssertionError("it asked or told without a journal")

    def _change(self, path: Path, change: str) -> None:
        """What another program does to the file."""
        if change == "replace":
            draft = self.place / f"moved-{next(self.numbers)}"
            subprocess.run(["cp", str(path), str(draft)], check=True)
            os.replace(draft, path)
        elif change == "delete":
            path.unlink()
        elif change == "move":
            path.rename(self.place / f"moved-{next(self.numbers)}")
        elif change == "empty":
            os.truncate(path, 0)
        elif change == "cut":
            os.truncate(path, path.stat().st_size * 2 // 3)
        elif change == "extend":
            with path.open("ab") as file:
                file.write(FOREIGN)
        elif change == "garble":
            raw = path.read_bytes()
            path.write_bytes(raw[:-2] + b"?" + raw[-1:])
        else:
            os.utime(path)

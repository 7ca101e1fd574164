"""An adversary of journals: kills, full disks, interrupts, threads, copies, forks, and other programs at the file.

Used here and in benchmarks/reliability/adversary.py. Whatever is done, in whatever order: what was acknowledged is in
the journal, or in the rescue file that has taken its place, once; the run in memory is the one that is read back; and
no other file is touched. What a run should know is worked out from the list of all that happened, in `books`.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tcgp import Categorical, Integer, Optimizer, Real, Space
from tcgp.optimizer import JournalError, SpaceExhausted, read_campaign
from tcgp.record.file import JournalInUse, JournalRescued
from tcgp.record.history import History
from tcgp.record.journal import read_journal

FOREIGN = b'{"event": "tell", "id": null, "x": [0.5, 0.5], "y": -1.0, "reason": null, "seconds": null}\n'

# What other programs do to the file. The last two leave it as long as it was, or as it was.
CHANGES = ("replace", "delete", "move", "empty", "cut", "extend", "garble", "touch")
DUPLICATES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}

# A run without models, and two with models.
H = (-2.0, 3.0)
INTEGER, CHOICE = Integer(0, 3), Categorical(["a", "b", "c"])
SPACES: dict[str, dict[str, Space]] = {
    "box": {
        "wide": Space({"w": (0.0, 1.0), "h": H}),
        "narrow": Space({"w": (0.25, 0.75), "h": H}),
        "stepped": Space({"w": Real(0.0, 1.0, step=0.125), "h": H}),
        "fixed": Space({"w": (0.0, 1.0), "h": 0.5}),
    },
    "mixed": {
        "wide": Space({"r": Real(0.5, 8.0, log=True), "i": INTEGER, "c": CHOICE}),
        "low": Space({"r": Real(0.5, 2.0), "i": INTEGER, "c": CHOICE}),
    },
    "finite": {
        "wide": Space({"i": Integer(0, 2), "c": Categorical(["u", "v"]), "d": Categorical([True, False])})
    },
}
GRIDS: dict[str, list[Any]] = {
    "box": [(i / 16, h) for i in range(17) for h in (-1.0, 0.5)],
    "mixed": [(r, i, c) for r in (0.5, 2.0, 8.0) for i in range(4) for c in "abc"],
    "finite": list(map(tuple, SPACES["finite"]["wide"].points())),
}
INSIDE: dict[str, Callable[[Any], bool]] = {
    "wide": lambda x: True,
    "narrow": lambda x: 0.25 <= x[0] <= 0.75,
    "stepped": lambda x: (8.0 * x[0]).is_integer(),
    "fixed": lambda x: x[1] == 0.5,
    "low": lambda x: x[0] <= 2.0,
}
GOALS: dict[str, dict[str, Any]] = {
    "a": {"objective": "a", "constraints": (), "maximize": False},
    "b": {"objective": "b", "constraints": ("a <= 40",), "maximize": True},
    "w": {"objective": "a", "constraints": ("w <= 0.8",), "maximize": False},
}


PICK = st.integers(
    0, 1000
)  # one of several; what is drawn must not depend on how far threads or kills have come


class Adversary(RuleBasedStateMachine):
    """A user with threads and copies, a machine that fails him, and other programs that know no locks."""

    cases = 0  # how many were tried

    @initialize(
        kind=st.sampled_from(["box", "box", "box", "mixed", "finite"]),
        criterion=st.sampled_from(["ei", "lcb"]),
        noise=st.booleans(),
        seed=st.integers(0, 1000),
        relative=st.booleans(),
    )
    def begin(self, kind: str, criterion: str, noise: bool, seed: int, relative: bool) -> None:
        type(self).cases += 1
        self.home = tempfile.TemporaryDirectory()
        self.place = Path(self.home.name)
        self.numbers = itertools.count(1)
        self.directory = os.getcwd()
        os.chdir(self.place)
        self.spaces, self.grid = SPACES[kind], GRIDS[kind]
        # In the box all proposals are of the initial design: nothing is fitted, and a case takes milliseconds.
        design = {"n_initial": 200, "initial_design": "uniform"} if kind == "box" else {"n_initial": 3}
        self.exact = kind != "box" or not noise
        self.optimizer = Optimizer(
            self.spaces["wide"],
            method="gp",
            criterion=criterion,
            rng=seed,
            noise=not self.exact,
            journal=Path("run.jsonl") if relative else self.place / "run.jsonl",
            **design,  # type: ignore[arg-type]
            **GOALS["a"],
        )
        self.log: list[tuple[Any, ...]] = []  # all that happened, as `books` reads it
        self.proposed: dict[str, Any] = {}  # what was proposed after a log
        self.fault: str | int | None = None  # what is about to go wrong
        self.journals = {self.place / "run.jsonl"}  # the names that journals of this run have had
        self.others: dict[Path, bytes] = {}  # files that are none of its business, and what is in them
        self.left: dict[Path, bytes | None] = {}  # journals that someone has changed, as he left them
        self.open: list[tuple[int, Path]] = []
        self.copies: list[Optimizer] = []
        self.at_work = False  # as inside tcgp.minimize
        self.changed = False  # since the optimizer last looked; as far as the books know
        self.write_another_file(keep_open=False)

    def teardown(self) -> None:
        if not hasattr(self, "home"):
            return
        try:
            self._happens(*self._something_to_write())  # whoever has changed the file last is found out now
            self.promise()
        finally:
            self.close_other_files()
            self.optimizer.close()
            os.chdir(self.directory)
            self.home.cleanup()

    # ---- the user ----

    @rule(n=st.integers(1, 3))
    def ask(self, n: int) -> None:
        """Points that wait come first, then those that the user wants; and no other twice."""
        now = books(self.log)
        due = [proposal.id for proposal in self.optimizer.reoffered]
        n_left = len(set(self.grid) - set(now.known)) if self._is_finite else n
        try:
            points = self._amid_fault(lambda: self.optimizer.ask(n))
        except SpaceExhausted:
            assert not due
            assert not n_left
            return
        except (OSError, KeyboardInterrupt, JournalRescued):  # nobody has been given them
            self._read_new_lines()
            waiting = [proposal.id for proposal in self.optimizer.reoffered]
            assert waiting == [*due, *range(len(now.asked), len(books(self.log).asked))]
            self.promise()
            return
        points = [tuple(x.values()) for x in points]
        assert len(points) == min(n, len(due) + n_left)
        assert points[: len(due)] == [now.asked[number] for number in due[:n]]
        for k, x in enumerate(points[len(due) :]):
            assert x == now.due[k] if k < len(now.due) else x not in now.known
            assert self.proposed.setdefault(repr(self.log), x) == x  # as often as the run comes here
            self.log.append(("ask", x))
            now.known.append(x)

    @rule(pick=PICK, how=st.sampled_from(["whole", "part", "failed"]))
    def answer(self, pick: int, how: str) -> None:
        if waiting := list(self.state.waiting.items()):
            number, x = waiting[pick % len(waiting)]
            self._tell([x], [self._answer(how)], [number])

    @rule(picks=st.lists(PICK, min_size=1, max_size=4))
    def tell_own(self, picks: list[int]) -> None:
        """Points of the user's own, of which some may be pending; as an import does."""
        told = {t.x for t in self.state.told} if self.exact else set()
        if free := [x for x in self.grid if INSIDE[self.state.space](x) and x not in told]:
            points = list(dict.fromkeys(free[pick % len(free)] for pick in picks))
            self._tell(points, [self._answer("whole") for _ in points], [None] * len(points))

    @rule(pick=PICK)
    def tell_again(self, pick: int) -> None:
        """What is known already is not noted again, and what contradicts it is refused."""
        now = self.state
        if not now.told or now.told[pick % len(now.told)].x in now.waiting.values():
            return
        told = now.told[pick % len(now.told)]
        self.optimizer.tell(self._named(told.x), told.answer)
        if told.number is not None and (told.answer is None or len(told.answer) == 2):  # no part of an answer
            self.optimizer.correct(told.number, told.answer)
        if self.exact:
            with pytest.raises(ValueError, match="exact"):
                self.optimizer.tell(self._named(told.x), self._answer("whole"))

    @rule(pick=PICK, how=st.sampled_from(["whole", "failed"]), by_point=st.booleans())
    def correct(self, pick: int, how: str, by_point: bool) -> None:
        points = [t.x for t in self.state.told]
        told = [
            t for t in self.state.told if points.count(t.x) == 1 or (t.number is not None and not by_point)
        ]
        if not told:
            return
        t = told[pick % len(told)]
        which = self._named(t.x) if by_point or t.number is None else t.number
        answer, reason = self._answer(how), f"reason {next(self.numbers)}"
        self._happens(
            lambda: self.optimizer.correct(which, answer, reason=reason if answer is None else None),
            ("correct", t.x, t.number, answer),
        )

    @rule(pick=PICK)
    def retry(self, pick: int) -> None:
        """An attempt at what is pending, or has failed, is followed by another."""
        if to_retry := self.state.to_retry:
            number = to_retry[pick % len(to_retry)]
            self._happens(lambda: self.optimizer.note_retry(number, "exit code 75", 1.5), ("retry", number))

    @rule(pick=PICK)
    def enqueue(self, pick: int) -> None:
        now = self.state
        free = [x for x in self.grid if now.wants(x)]
        x = free[pick % len(free)]
        known = x in now.queue or x in now.taken
        self._happens(lambda: self.optimizer.enqueue(self._named(x)), *[("enqueue", x)][known:])

    @rule(pick=PICK)
    def change_space(self, pick: int) -> None:
        name = sorted(self.spaces)[pick % len(self.spaces)]
        same = name == self.state.space
        self._happens(lambda: self.optimizer.change_space(self.spaces[name]), *[("space", name)][same:])

    @rule(name=st.sampled_from(sorted(GOALS)))
    def change_goals(self, name: str) -> None:
        now = self.state
        if name == "w" and not self._is_box:
            return
        valued = [t for t in now.told if t.value is not None and t.inside]
        if valued and all(wanted(name, t.answer) is None for t in valued):
            with pytest.raises(ValueError, match="no evaluation has a value for these goals"):
                self.optimizer.change_goals(**GOALS[name])
            return
        same = name == now.goals
        self._happens(lambda: self.optimizer.change_goals(**GOALS[name]), *[("goals", name)][same:])

    @rule(close=st.booleans(), reoffer=st.booleans())
    def start_again(self, close: bool, reoffer: bool) -> None:
        before = self.optimizer
        if self.changed:
            return
        if self.at_work and not close:
            with contextlib.suppress(JournalInUse):
                Optimizer.resume(self._journal())
                raise AssertionError("it was taken away")
            return
        if close:
            before.close()
        self._resume(reoffer)
        self._refuses(before)

    @rule()
    def be_at_work(self) -> None:
        """Nobody else in this process may open the journal from here on, as inside tcgp.minimize."""
        self.optimizer.hold()
        self.at_work = True

    # ---- the machine ----

    @rule(lost=st.integers(0, 500), reoffer=st.booleans())
    def be_killed(self, lost: int, reoffer: bool) -> None:
        """A crash leaves any number of bytes of what was written last: every whole line counts, and no other."""
        if self.changed:
            return
        self.optimizer.close()
        path = self._journal()
        raw = path.read_bytes()
        header = raw.index(b"\n") + 1
        kept = raw[: max(header, len(raw) - lost)]
        ends = [end for end, byte in enumerate(raw) if byte == ord("\n") and end <= len(kept)]
        path.write_bytes(kept)
        n = len(ends) - 1  # a line without its newline is whole
        lost_lines = self.log[n:]
        del self.log[n:]
        self._resume(reoffer)
        rest, beside = kept[ends[-1] + 1 :], sorted(self.place.glob(f"{path.name}.torn-*"))
        assert [torn.read_bytes() for torn in beside] == [rest] * bool(rest)
        for torn in beside:
            torn.unlink()
        if lost_lines and lost_lines[0][0] == "ask" and not reoffer:
            self.ask(1)  # the same point once more

    @rule(fault=st.one_of(st.integers(0, 300), st.just("interrupt")))
    def be_about_to_fail(self, fault: str | int) -> None:
        """The next write comes when the disk has room for some bytes only, or is followed by Ctrl-C."""
        self.fault = None if self.changed else fault

    @precondition(lambda self: self._is_box)
    @rule(n_threads=st.integers(2, 4), n=st.integers(1, 3), change=st.sampled_from([None, *CHANGES[:-2]]))
    def use_threads(self, n_threads: int, n: int, change: str | None) -> None:
        """All at once, and meanwhile perhaps another program."""
        change, path = None if self.changed else change, self._journal()
        together = threading.Barrier(n_threads + 1)
        done: list[tuple[Any, Any]] = []

        def work() -> None:
            together.wait()
            for _ in range(n):
                x, y = self._ask_at_any_time(), self._answer("whole")
                with contextlib.suppress(JournalRescued):  # it is told all the same
                    self.optimizer.tell(x, y)
                done.append((tuple(x.values()), y))

        with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
            futures = [pool.submit(work) for _ in range(n_threads)]
            together.wait()
            if change is not None:
                time.sleep(0.001 * (len(self.log) % 4))
                self._change(path, change)
            for future in futures:
                future.result()
        before = len(self.log)
        with contextlib.suppress(JournalRescued):
            self.optimizer.correct(self._named(done[0][0]), self._answer("whole"))  # it looks at the file
        self.changed = False
        self._read_new_lines()
        lines = [line for line in self.log[before:] if line[0] == "tell"]
        assert sorted(map(repr, done)) == sorted(repr((x, answer)) for _, x, _, answer in lines)
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

    @rule(change=st.sampled_from(CHANGES))
    def change_the_journal(self, change: str) -> None:
        if self.changed:
            return
        path = self._journal()
        if change == "garble":
            time.sleep(0.02)  # the time of a change is known to some milliseconds
        self._change(path, change)
        if change == "touch":
            return
        self.changed, self.fault = True, None
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
        if not hasattr(self, "home") or self.changed:
            return
        path = self._journal()
        assert list(_lines(path, self.spaces)) == self.log
        agree(self.optimizer.history, self.log)
        assert contents(read_campaign(path).history) == contents(self.optimizer.history)
        for other, content in self.others.items():
            assert other.read_bytes() == content, "another file was touched"
        for journal, content in self.left.items():
            assert (journal.read_bytes() if journal.exists() else None) == content, (
                "a journal was written to again"
            )
        names = {self.place / "below", *self.others, *self.journals, *self.place.glob("moved-*")}
        assert set(self.place.iterdir()) <= names, "a file came from nowhere"

    # ---- steps ----

    @property
    def state(self) -> SimpleNamespace:
        return books(self.log)

    @property
    def _is_box(self) -> bool:
        return "narrow" in self.spaces

    @property
    def _is_finite(self) -> bool:
        return len(self.grid) == self.optimizer.space.size

    def _named(self, x: Any) -> Any:
        return self.spaces["wide"].as_named(list(x))

    def _answer(self, how: str) -> dict[str, float] | None:
        """Outputs that no other evaluation has."""
        k = next(self.numbers)
        return {"whole": {"a": float(k), "b": k % 7 - 3.0}, "part": {"a": float(k)}, "failed": None}[how]

    def _journal(self) -> Path:
        assert self.optimizer.journal is not None
        path = self.place / self.optimizer.journal  # it may be named from where it was begun
        self.journals.add(path)
        return path

    def _resume(self, reoffer: bool) -> None:
        self.at_work, self.fault = False, None
        self.optimizer = Optimizer.resume(self._journal(), reoffer=reoffer)
        assert self.optimizer.reoffered == self.optimizer.pending[: None if reoffer else 0]

    def _tell(self, points: list[Any], answers: list[Any], numbers: list[int | None]) -> None:
        waiting = {x: number for number, x in self.state.waiting.items()}
        lines = [
            ("tell", x, waiting.get(x) if number is None else number, answer)
            for x, answer, number in zip(points, answers, numbers, strict=True)
        ]
        self._happens(lambda: self.optimizer.tell(list(map(self._named, points)), answers), *lines)

    def _something_to_write(self) -> tuple[Callable[[], object], tuple[Any, ...]]:
        """A call that needs the journal, and the line that it adds."""
        now = self.state
        number, x = None, next((x for x in self.grid if now.wants(x) and x not in now.known), None)
        if x is None:  # a finite space of which all is known or being evaluated
            number, x = next(iter(now.waiting.items()), (None, None))
        answer = self._answer("whole")
        if x is None:
            told = now.told[0]
            line = ("correct", told.x, told.number, answer)
            return lambda: self.optimizer.correct(self._named(told.x), answer), line
        return lambda: self.optimizer.tell(self._named(x), answer), ("tell", x, number, answer)

    def _happens(self, call: Callable[[], object], *lines: tuple[Any, ...]) -> None:
        """Do what must add these lines to the log, all or none, whatever goes wrong."""
        must_notice = bool(lines) and self.changed
        try:
            self._amid_fault(call)
            assert not must_notice
        except OSError:
            self.promise()
            call()  # there is room again
        except (KeyboardInterrupt, JournalRescued):
            assert lines
        self.log += lines
        if lines:
            self.changed = False

    def _amid_fault(self, call: Callable[[], Any]) -> Any:
        """Call what may write, amid what is about to go wrong."""
        fault, self.fault = self.fault, None
        try:
            if fault is None:
                return call()
            with interrupts() if fault == "interrupt" else full_disk(self._journal(), int(fault)):
                return call()
        except JournalRescued:
            assert self.changed
            self.changed = False
            raise

    def _read_new_lines(self) -> None:
        """What the journal alone knows, such as the order in which threads came."""
        self.log += list(_lines(self._journal(), self.spaces))[len(self.log) :]

    def _ask_at_any_time(self) -> Any:
        while True:
            try:
                return self.optimizer.ask()
            except JournalRescued:
                pass  # the point is offered again, to this thread or another

    def _refuses(self, optimizer: Optimizer) -> None:
        x = next(x for x in self.grid if all(INSIDE[name](x) for name in self.spaces))
        for call in (optimizer.ask, lambda: optimizer.tell(self._named(x), {"a": 1.0, "b": 1.0})):
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


# ---- what a run should know ----


def wanted(goals: str, answer: dict[str, float] | None) -> float | None:
    """The value that an answer has under goals."""
    answer = answer or {}
    return answer.get("b") if goals == "b" else answer.get("a")


def books(log: list[tuple[Any, ...]]) -> SimpleNamespace:
    """What a run should know after all that happened."""
    now = SimpleNamespace(asked=[], told=[], enqueued=[], space="wide", goals="a")
    for kind, *facts in log:
        if kind == "ask":
            now.asked += facts
        elif kind == "tell":
            x, number, answer = facts
            now.told.append(SimpleNamespace(x=x, number=number, answer=answer))
        elif kind == "correct":
            x, number, answer = facts
            next(t for t in now.told if (t.x, t.number) == (x, number)).answer = answer
        elif kind == "retry":
            now.told = [t for t in now.told if t.number != facts[0]]
        elif kind == "enqueue":
            now.enqueued += facts
        else:
            setattr(now, kind, facts[0])
    lies_inside, limited = INSIDE[now.space], now.goals == "w"
    for t in now.told:
        t.value, t.inside = wanted(now.goals, t.answer), lies_inside(t.x)
        feasible = now.goals == "a" or (t.x[0] <= 0.8 if limited else (t.answer or {}).get("a", 99.0) <= 40.0)
        t.good = t.value is not None and t.inside and feasible
    now.wants = lambda x: lies_inside(x) and not (limited and x[0] > 0.8)
    answered = {t.number for t in now.told}
    now.waiting = {number: x for number, x in enumerate(now.asked) if number not in answered}
    now.pending = {number: x for number, x in now.waiting.items() if now.wants(x)}
    now.known = [*now.asked, *(t.x for t in now.told)]
    now.queue = [x for x in now.enqueued if now.wants(x)]
    now.taken = [*now.pending.values(), *(t.x for t in now.told if t.inside)]
    now.due = [x for x in now.queue if x not in now.taken]
    now.to_retry = sorted({*now.pending, *(t.number for t in now.told if t.value is None)} - {None})
    return now


def agree(history: History, log: list[tuple[Any, ...]]) -> None:
    """A run knows what it should."""
    now = books(log)
    assert [proposal.x for proposal in history.proposals] == now.asked
    for found, inside in ((history.evaluations, True), (history.outside, False)):
        expected = [(t.x, t.number, t.answer, t.value) for t in now.told if t.inside is inside]
        assert [(e.x, e.id, e.outputs, e.y) for e in found] == expected
    assert {number: proposal.x for number, proposal in history.pending.items()} == now.pending
    assert {**now.pending, **{n: proposal.x for n, proposal in history.given_up.items()}} == now.waiting
    assert history.queue == now.queue
    for found, kind in (
        (history.corrections, "correct"),
        (history.retries, "retry"),
        (history.former_spaces, "space"),
        (history.former_settings, "goals"),
    ):
        assert len(found) == sum(line[0] == kind for line in log)
    good = [t.value for t in now.told if t.good]
    assert (None if history.best is None else history.best.y) == (
        (max if now.goals == "b" else min)(good) if good else None
    )


def contents(history: History) -> tuple[Any, ...]:
    """All that a history holds, to be compared."""
    h, data = history, history.data
    table = data.U.tolist(), np.nan_to_num(data.Y, nan=np.inf).tolist(), h.codes.tolist()
    events = (
        h.proposals,
        h.corrections,
        h.retries,
        h.former_spaces,
        h.former_settings,
        h.n_elsewhere,
        h.n_stale,
    )
    derived = h.evaluations, h.outside, h.queue, list(h.pending.items()), list(h.given_up.items()), h.best
    return h.space, h.settings, *table, *events, *derived


def _lines(path: Path, spaces: dict[str, Space]) -> Iterator[tuple[Any, ...]]:
    """The events of a journal, as they stand in a log."""
    for _, event in read_journal(path).events:
        kind, x = event["event"], tuple(event.get("x", ()))
        if kind in ("ask", "enqueue"):
            yield kind, x
        elif kind in ("tell", "correct"):
            yield kind, x, event["id"], event.get("outputs")
        elif kind == "retry":
            yield kind, event["id"]
        elif kind == "space":
            yield kind, next(name for name, space in spaces.items() if space.to_json() == event["space"])
        else:
            yield kind, next(k for k, g in GOALS.items() if all(event[n] == _json(g[n]) for n in g))


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


# ---- faults ----


@contextlib.contextmanager
def full_disk(path: Path, room: int) -> Iterator[None]:
    """The file can grow by some bytes: a write is cut off there, and the next one fails."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


@contextlib.contextmanager
def interrupts() -> Iterator[None]:
    """Ctrl-C comes between the disk and the memory, whenever something was written."""
    sync = os.fsync

    def sync_and_interrupt(fd: int) -> None:
        sync(fd)
        os.kill(os.getpid(), signal.SIGINT)

    with mock.patch.object(os, "fsync", sync_and_interrupt):
        yield

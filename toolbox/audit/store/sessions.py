"""Which process wrote a record, and whether it still lives: a call that is still open when its process has ended is in an unknown state."""

from __future__ import annotations

import os
import socket
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

__all__ = ["Life", "Session", "life_of", "this_session"]

Life = Literal["alive", "dead", "elsewhere"]

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Session:
    """One use of a store by one process.

    Attributes:
        id: unique id.
        host: name of the machine.
        pid: id of the process.
        started_at: when the store was opened, in seconds since the epoch.
        process_started: what tells the process from a later one with the same pid: boot, namespace, start; empty where that is unknown.
        ended_at: when the store was closed; None while it is open, and when the process ended without closing it.
    """

    id: str
    host: str
    pid: int
    started_at: float
    process_started: str
    ended_at: float | None = None


def this_session() -> Session:
    """A new session of this process."""
    pid = os.getpid()
    return Session(uuid.uuid4().hex, socket.gethostname()[:200], pid, time.time(), _start_of(pid))


def _surroundings() -> str:
    """Boot and namespace in which a pid means something; empty where there is no /proc."""
    try:
        boot = _BOOT_ID.read_text("ascii").strip()
        return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116 - a link of the kernel's
    except OSError:
        return ""


def _start_of(pid: int) -> str:
    """Boot, namespace and start of a process; empty when there is no such process, or no way to know."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    # The name of the program stands in brackets and may hold anything; the start is the 20th field behind it.
    fields = stat.rpartition(")")[2].split()
    # A zombie has ended; only its parent has not asked yet.
    if len(fields) < 20 or fields[0] in "ZX":
        return ""
    return f"{_surroundings()}/{fields[19]}"


def life_of(session: Session) -> Life:
    """Whether the process of a session still has it open, as far as can be known from here."""
    if session.ended_at is not None:
        return "dead"
    if session.host != socket.gethostname()[:200]:
        return "elsewhere"
    if session.process_started:
        here = _surroundings()
        if session.process_started.rpartition("/")[0] == here:
            return "alive" if _start_of(session.pid) == session.process_started else "dead"
        # Another boot: of this machine, when it was before this one; else of another machine that has the same name.
        is_other_boot = session.process_started.partition("/")[0] != here.partition("/")[0]
        return "dead" if is_other_boot and here and session.started_at < _booted_at() else "elsewhere"
    if os.name != "posix" or session.pid <= 0:
        return "elsewhere"
    try:
        os.kill(session.pid, 0)
    except ProcessLookupError:
        return "dead"
    except (OSError, OverflowError):
        return "alive"  # another user's
    return "alive"


def _booted_at() -> float:
    try:
        lines = Path("/proc/stat").read_text("ascii").splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("btime ")))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0.0

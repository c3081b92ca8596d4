"""Interruptions at any place at which a signal may come."""

import contextlib
import dis
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any


class Interruption(BaseException):
    """As a KeyboardInterrupt; no test runner takes it for its own."""


# Where the interpreter looks for signals: as a function begins or goes on, at the end of a loop's round, and after a call.
LOOKS = {dis.opmap[name] for name in ("RESUME", "JUMP_BACKWARD", "CALL", "CALL_FUNCTION_EX", "CALL_KW") if name in dis.opmap}


class Interrupter:
    """Raises where a signal could, for the n-th time that the interpreter comes to such a place in certain folders."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self.folders = folders
        self.left = 0
        self.where = ""

    @contextlib.contextmanager
    def at(self, place: int) -> Iterator[None]:
        """From now on, and once."""
        self.left, self.where = place, ""
        before = sys.gettrace()
        # The collector may call anything, and what is raised there is lost.
        gc.disable()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)
            gc.enable()

    def _call(self, frame: FrameType, _event: str, _argument: object) -> Any:
        if self.left <= 0 or not frame.f_code.co_filename.startswith(self.folders):
            return None
        frame.f_trace_opcodes = True
        code, last = frame.f_code.co_code, -1

        def step(frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal last
            if event == "opcode" and self.left > 0:
                looks = last in LOOKS
                last = code[frame.f_lasti]
                self.left -= looks
                if looks and self.left == 0:
                    self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                    raise Interruption
            return step

        return step

"""What an answer's process was refused, told by the kernel: notes each refused system call, lets threads be made."""

from __future__ import annotations

import errno
import os
import select
import struct
import threading
from collections.abc import Callable

from ptxlab.course.sandbox import seccomp
from ptxlab.course.sandbox.attempts import Attempts

THREADS = 256
"""Threads that an answer may have at a time."""
MOST = 10_000
"""Refused calls after which the process is ended: it does nothing else any more."""
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1


class Listener:
    """Answers the seccomp filter's questions, in a thread. `flood` is called once there are too many."""

    def __init__(self, handle: int, attempts: Attempts, flood: Callable[[], None]) -> None:
        self.handle, self.attempts, self.flood = handle, attempts, flood
        self.count = 0
        self._stop, self._stopped = os.pipe()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        import fcntl  # not there on Windows, where nothing listens

        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        poll.register(self._stop, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self._stop in ready or not ready.get(self.handle, 0) & select.POLLIN:
                return  # stopped, or nobody is left that the filter is for
            buffer = bytearray(80)
            try:
                fcntl.ioctl(self.handle, _RECEIVE, buffer)
                asked, pid, _, call, _, _, *arguments = struct.unpack("=QIIiIQ6Q", buffer)
                error, flags = self._judge(pid, seccomp.name(call), arguments)
                fcntl.ioctl(self.handle, _SEND, struct.pack("=QqiI", asked, 0, -error, flags))
            except OSError as gone:
                if gone.errno not in (errno.ENOENT, errno.EINTR):  # the one that asked has been ended meanwhile
                    return

    def _judge(self, pid: int, call: str, arguments: list[int]) -> tuple[int, int]:
        """The error and the flags of the reply."""
        if call == "clone" and arguments[0] & 0x00010000:  # the flags are in a register: nobody can change them now
            try:
                there = len(os.listdir(f"/proc/{pid}/task"))
            except FileNotFoundError:
                there = 0
            if there < THREADS:
                return 0, _CONTINUE
            self.attempts.add("process", f"more than {THREADS} threads")
            return errno.EAGAIN, 0
        self.count += 1
        if self.count == MOST:
            self.attempts.add("system call", f"more than {MOST:,} refused ones; the process was ended")
            self.flood()
        if not call:  # newer than libseccomp: whoever tries such a call can do without
            return errno.ENOSYS, 0
        self.attempts.call(call, arguments)
        return errno.EPERM, 0

    def close(self) -> None:
        """Ends the thread; what is asked from then on is refused by the kernel."""
        os.write(self._stopped, b"x")
        self.thread.join()
        for handle in (self.handle, self._stop, self._stopped):
            os.close(handle)

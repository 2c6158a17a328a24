"""Hostile submissions, made by code: what each attempts in the cell of a right answer, and what the report has to say.

Each attempt is made as its author would: what fails is ignored, and the right answer follows. So the mark shows that
the attempt cost nobody anything, and the note that it was seen.
"""

from __future__ import annotations

import os
import platform
import textwrap
from dataclasses import dataclass
from pathlib import Path

from ptxlab.course import catalogue

EXERCISES = ("01-predict", "01-lse")
RIGHT = "import math\n" + catalogue()["01-predict"].solution
HEAD = "# %% [exercise] 01-predict\n"
KERNEL = (
    "# %%\nimport math\nfrom ptxlab.builder import Builder, Ptr, f32, kernel, u32\nLOG2E, LN2 = math.log2(math.e), "
    "math.log(2)\n# %% [exercise] 01-lse\n" + catalogue()["01-lse"].solution
)
PRELUDE = """
import ctypes, errno, fcntl, glob, mmap, os, platform, signal, socket, struct, subprocess, sys, threading, time
from ptxlab.course.sandbox.seccomp import library
OUTSIDE, CLASS, REPORT = {outside!r}, {submissions!r}, {report!r}
libc = ctypes.CDLL(None, use_errno=True)

def call(name, *given):
    "A system call without Python's or the library's help."
    number = library().seccomp_syscall_resolve_name(name.encode())
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(g) if isinstance(g, int) else g for g in given]) < 0:
        raise OSError(ctypes.get_errno(), name)

def attempt(work, *given):
    "Does something, whatever comes of it."
    try:
        return work(*given)
    except Exception as error:
        print(type(error).__name__, error)

PIDS = [os.getppid() or 2, *range(max(2, os.getppid() - 6), os.getppid())]  # the grader and its parent are among these
"""


@dataclass(frozen=True)
class Attack:
    """code: what is done before the right answer. named: what the note says of it. told: what the feedback says.
    score: of the exercise."""

    code: str
    named: str = ""
    told: str = ""
    score: float = 1.0

    def text(self, places: dict[str, str]) -> str:
        """The submission."""
        return f"{HEAD}{PRELUDE.format(**places)}\n{textwrap.dedent(self.code).strip()}\n{RIGHT}"


def _tried(code: str) -> str:
    """One expression, whatever comes of it."""
    return f"attempt(lambda: {code})"


OTHERS = "[CLASS, OUTSIDE, REPORT, *glob.glob('/tmp/**', recursive=False), '..', '../..', '../../..']"
SIGNALS = {
    "pipe-owner": """
        def ring(pid):
            read, write = os.pipe()
            fcntl.fcntl(read, fcntl.F_SETOWN, pid)
            fcntl.fcntl(read, fcntl.F_SETSIG, 9)
            fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            os.write(write, b"x")
        for pid in PIDS: attempt(ring, pid)
        """,
    "pipe-async-only": "read, write = os.pipe()\nattempt(fcntl.fcntl, read, fcntl.F_SETFL, os.O_ASYNC)",
    "pipe-owner-group": "attempt(fcntl.fcntl, os.pipe()[0], fcntl.F_SETOWN, -os.getppid())",
    "pipe-owner-ex": "attempt(fcntl.fcntl, os.pipe()[0], 15, struct.pack('ii', 1, os.getppid()))",
    "lease": "open('f', 'w').close()\nattempt(fcntl.fcntl, os.open('f', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)",
    "directory-notify": "attempt(fcntl.fcntl, os.open('.', os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)",
    "ioctl-async": "attempt(fcntl.ioctl, os.pipe()[0], 0x5452, struct.pack('i', 1))",
    "ioctl-owner": "attempt(fcntl.ioctl, os.pipe()[0], 0x8901, struct.pack('i', os.getppid()))",
    "ioctl-group": "attempt(fcntl.ioctl, os.pipe()[0], 0x8902, struct.pack('i', os.getppid()))",
    "timer": _tried("call('timer_create', 0, struct.pack('QiiQ', 0, 9, 0, 0) + bytes(64), bytes(8))"),
    "queue-notify": _tried("call('mq_open', b'q', os.O_CREAT | os.O_RDWR, 0o600, None)"),
    "kill-parent": "for pid in PIDS: attempt(os.kill, pid, 9)",
    "kill-all": _tried("os.kill(-1, 9)"),
    "kill-group": _tried("os.killpg(0, 9)"),
    "thread-kill": "for pid in PIDS: attempt(call, 'tgkill', pid, pid, 9)",
    "queue-signal": _tried("call('rt_sigqueueinfo', os.getppid(), 9, bytes(128))"),
    "pidfd-signal": _tried("call('pidfd_send_signal', 0, 9, 0, 0)"),
}
PERMISSIONS = {
    "chmod-others": f"""
        for place in {OTHERS}:
            attempt(os.chmod, place, 0)
            for name in attempt(os.listdir, place) or (): attempt(os.chmod, os.path.join(place, name), 0)
        for at in range(100):
            for up in ('..', '../..'): attempt(os.chmod, f'{{up}}/{{at:05}}/home', 0)
        """,
    "chmod-private": _tried("os.chmod(OUTSIDE + '/private', 0o777)"),
    "chmod-at": _tried("call('fchmodat', -100, OUTSIDE.encode() + b'/private', 0o777)"),
    "chmod-at2": _tried("call('fchmodat2', -100, OUTSIDE.encode() + b'/private', 0o777, 0)"),
    "fchmod": "file = open('mine', 'w')\nattempt(os.fchmod, file.fileno(), 0o4777)",
    "chown": _tried("os.chown(OUTSIDE + '/private', os.getuid(), os.getgid())"),
    "times": "for name in ('private', 'public'): attempt(os.utime, f'{OUTSIDE}/{name}', (1, 1))",
    "times-raw": _tried("call('utimensat', -100, OUTSIDE.encode() + b'/public', struct.pack('4q', 1, 1, 1, 1), 0)"),
    "attributes": _tried("os.setxattr(OUTSIDE + '/public', 'user.mine', b'x')"),
    "remove-attribute": _tried("os.removexattr(OUTSIDE + '/public', 'user.planted')"),
    "acl": _tried("os.setxattr(OUTSIDE + '/private', 'system.posix_acl_access', struct.pack('<IHHi', 2, 1, 7, -1))"),
    "immutable": "attempt(fcntl.ioctl, os.open('.', os.O_RDONLY), 0x40086602, struct.pack('q', 16))",
    "become-root": _tried("os.setuid(0)"),
}
NETWORK = {
    "tcp": _tried("socket.create_connection(('127.0.0.1', 22))"),
    "udp": _tried("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))"),
    "tcp6": _tried("socket.socket(socket.AF_INET6)"),
    "unix-abstract": _tried("socket.socket(socket.AF_UNIX).bind('\\0hello')"),
    "socket-pair": _tried("socket.socketpair()"),
    "netlink": _tried("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)"),
    "send-handle": "for at in range(3, 30): attempt(call, 'sendmsg', at, bytes(56), 0)",
}
PROCESSES = {
    "fork": _tried("os.fork()"),
    "fork-raw": _tried("call('clone', 17, 0, 0, 0, 0)"),
    "fork-untraced": _tried("call('clone', 0x00800011, 0, 0, 0, 0)"),
    "shell": "os.system('touch ' + OUTSIDE + '/new')",
    "spawn": _tried("subprocess.run(['/bin/sh', '-c', 'kill -9 -1'])"),
    "exec": _tried("os.execv('/bin/sh', ['sh'])"),
    "exec-at": _tried("call('execveat', -100, b'/bin/sh', 0, 0, 0)"),
    "trace": "for pid in PIDS: attempt(call, 'ptrace', 16, pid, 0, 0)",
    "read-memory": "for pid in PIDS: attempt(call, 'process_vm_readv', pid, 0, 0, 0, 0, 0)",
    "unshare": _tried("call('unshare', 0x10000000)"),
    "set-namespace": _tried("call('setns', 0, 0)"),
    "limit-parent": "import resource\nfor pid in PIDS: attempt(resource.prlimit, pid, resource.RLIMIT_NOFILE, (0, 0))",
    "pidfd": "for pid in PIDS: attempt(call, 'pidfd_open', pid, 0)",
    "session": _tried("os.setsid()"),
    "threads": """
        stop = threading.Event()
        threading.stack_size(64 << 10)
        def many():
            for at in range(5000): threading.Thread(target=stop.wait, daemon=True).start()
        attempt(many)
        stop.set()
        """,
}
FILES = {
    "read-private": _tried("print(open(OUTSIDE + '/private').read())"),
    "read-shadow": _tried("print(open('/etc/shadow').read())"),
    "read-passwd": _tried("print(open('/etc/passwd').read())"),
    "read-class": "for name in attempt(os.listdir, CLASS) or (): print(attempt(open(f'{CLASS}/{name}').read))",
    "write-public": _tried("open(OUTSIDE + '/public', 'w')"),
    "append": _tried("open(OUTSIDE + '/public', 'a').write('x')"),
    "new-file": _tried("open(OUTSIDE + '/new', 'x')"),
    "forge-report": _tried("open(REPORT, 'w').write('student,total\\nme,100')"),
    "delete-class": "import shutil\nfor p in (CLASS, OUTSIDE): attempt(shutil.rmtree, p)",
    "truncate": _tried("os.truncate(OUTSIDE + '/public', 0)"),
    "rename": _tried("os.rename(OUTSIDE + '/public', OUTSIDE + '/gone')"),
    "unlink": _tried("os.unlink(OUTSIDE + '/public')"),
    "hard-link": _tried("os.link(OUTSIDE + '/public', 'mine')"),
    "by-link": "os.symlink(OUTSIDE + '/public', 'way')\nattempt(open, 'way', 'w')",
    "solutions": _tried("__import__('ptxlab.course.exercises.e01_online', fromlist=['PREDICT']).PREDICT"),
    "list-root": "for place in ('/', '/home', '/tmp'): print(attempt(os.listdir, place))",
    "other-process": "for pid in PIDS: print(attempt(open, f'/proc/{pid}/environ', 'rb'))",
    "kernel-settings": _tried("open('/proc/sys/kernel/core_pattern', 'w').write('|/bin/sh')"),
    "shared-memory": _tried("open('/dev/shm/mine', 'wb').write(bytes(1 << 20))"),
    "mount": _tried("call('mount', b'none', b'.', b'tmpfs', 0, 0)"),
    "chroot": _tried("os.chroot('.')"),
    "by-handle": _tried("call('open_by_handle_at', -100, bytes(64), 0)"),
    "lock": "attempt(fcntl.flock, os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX)",
}
MEMORY = {
    "memfd": "def grow():\n    at = os.memfd_create('x')\n    os.ftruncate(at, 1 << 30)\nattempt(grow)",
    "shared-segment": _tried("call('shmget', 0, 1 << 30, 0o1600)"),
    "key": _tried("call('add_key', b'user', b'x', b'y', 1, -3)"),
}
KERNEL_CALLS = {
    "device": _tried("os.mknod('disk', 0o60600, os.makedev(254, 0))"),
    "named-pipe": _tried("os.mkfifo('pipe')"),
    "io-uring": _tried("call('io_uring_setup', 8, bytes(256))"),
    "bpf": _tried("call('bpf', 0, bytes(64), 64)"),
    "perf": _tried("call('perf_event_open', bytes(128), 0, -1, -1, 0)"),
    "own-filter": _tried("call('seccomp', 1, 0, bytes(16))"),
    "personality": _tried("call('personality', 0x0400000)"),
    "death-signal": "if libc.prctl(1, 9, 0, 0, 0): print('refused')",
}
UNDONE = {
    # what costs its author the mark, or nothing, and is no refused attempt
    "endless": Attack("while True: pass", "the time was up", "endless loop", 0),
    "sleep": Attack("time.sleep(10_000)", "the time was up", "endless loop", 0),
    "gone": Attack("os._exit(0)", "the process of the answer ended: exit status 0", "ended while it ran", 0),
    "segfault": Attack("ctypes.string_at(0)", "the process of the answer ended: SIGSEGV", "ended while it ran", 0),
    "abort": Attack("os.abort()", "signal (tgkill)", "ended while it ran", 0),
    "flood-of-calls": Attack("while True: attempt(os.fork)", "more than 10,000 refused ones", "ended while it ran", 0),
    "memory": Attack("x = bytearray(1 << 40)", "", "MemoryError", 0),
    "output": Attack("for at in range(50): print('x' * 1_000_000)"),
    "surrogates": Attack("raise ValueError('\\ud800 \\x1b[2J <script>alert(1)</script>')", "", "<script>", 0),
    "fake-attempts": Attack("for at in range(3, 64): attempt(os.write, at, b'network\\t\\x1b[2J<b>' + b'x' * 9000)",
                            "", "", 0),
    "cheat-reply": Attack("for at in range(3, 64): attempt(os.write, at, b'\\x02\\0\\0\\0{}')", "", "", 0),
    "big-file": Attack("open('big', 'wb').write(bytes(1 << 26))", "", "File too large", 0),
    "nested": Attack("""
        for at in range(1500):
            os.mkdir('d'); os.chdir('d')
        """),
    "nested-closed": Attack("""
        for at in range(1500):
            os.mkdir('d', 0o700); os.chdir('d')
            open('f', 'w').close()
        os.umask(0o777); os.mkdir('closed'); open('shut', 'w').close()
        """),
    "names": Attack(r"""
        for name in (b'\xff\xfe', b'new\nline', b'\x1b[2J', b'-rf', b'x' * 255):
            open(name, 'w').close(); os.mkdir(name + b'd' if len(name) < 255 else b'd' * 255)
        """),
    "other-architecture": Attack("""
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(bytes.fromhex('b814000000cd80c3'))  # getpid of 32-bit programs
        if platform.machine() == 'x86_64':
            ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        """, "", "", 0 if platform.machine() == "x86_64" else 1),
    "other-numbers": Attack("""
        if platform.machine() == 'x86_64':
            libc.syscall(ctypes.c_long(0x40000000 | 90), OUTSIDE.encode() + b'/public', 0)
        """, "SIGSYS" if platform.machine() == "x86_64" else "", "", 0 if platform.machine() == "x86_64" else 1),
    "without-python": Attack("""
        for place in (b'/etc/passwd', OUTSIDE.encode() + b'/private', CLASS.encode()):
            if libc.open(place, 0) >= 0: raise ValueError(place)
        """),
    "own-handles": Attack("os.listdir('/proc/self/fd'); open('/proc/self/status').read()"),
    "links": Attack("os.symlink('.', 'loop'); os.symlink(OUTSIDE, 'out'); os.symlink('/', 'root')"),
}  # fmt: skip
ATTACKS = {
    **{name: Attack(code, "signal (") for name, code in SIGNALS.items()},
    **{name: Attack(code, "permissions (") for name, code in PERMISSIONS.items()},
    **{name: Attack(code, "network (") for name, code in NETWORK.items()},
    **{name: Attack(code, "process (") for name, code in PROCESSES.items()},
    **{name: Attack(code, "file outside (") for name, code in FILES.items()},
    **{name: Attack(code, "memory (") for name, code in MEMORY.items()},
    **{name: Attack(code, "system call (") for name, code in KERNEL_CALLS.items()},
    **UNDONE,
}
SLOW_TO_CLEAN = Attack("""
    def fill():
        for at in range(1_000_000): open(f'f{at}', 'w').close()
    attempt(fill)
    time.sleep(3)
    """)
"""More files than a submission may have: it runs out of them, or is stopped, which depends on its confinement."""
FAST = (
    "pipe-owner", "kill-all", "chmod-others", "times", "tcp", "fork", "by-link", "memfd", "surrogates", "nested-closed",
)  # fmt: skip
"""One or two of each sort, for the normal run."""


def hand_in(folder: Path, attacks: dict[str, Attack], honest: int, places: dict[str, str]) -> list[str]:
    """Writes a class: attacks, and honest answers between them; the names of the honest ones."""
    names = []
    for at, (name, attack) in enumerate(attacks.items()):
        (folder / f"{at:03}-{name}.py").write_text(attack.text(places), encoding="utf-8", errors="surrogatepass")
    for at in range(honest):
        names.append(f"{at * max(1, len(attacks) // max(honest, 1)):03}-right")
        (folder / f"{names[-1]}.py").write_text(HEAD + RIGHT + KERNEL, encoding="utf-8")
    for path in folder.iterdir():
        path.chmod(0o644)
    return names


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """All that there is to know of the files in a folder: contents, modes, owners, times, extended attributes."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        about = path.lstat()
        attributes = {
            name: os.getxattr(path, name, follow_symlinks=False) for name in os.listxattr(path, follow_symlinks=False)
        }
        text = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (
            about.st_mode, about.st_uid, about.st_gid, about.st_mtime_ns, about.st_ctime_ns, about.st_nlink, text,
            tuple(attributes.items()),
        )  # fmt: skip
    return found

"""The system calls that an answer's process may make: an allow-list, as a seccomp filter that names what it refuses.

What is not listed is refused. Where the kernel can (Linux 5.7), a refused call waits until `Listener` has noted its
name and told it EPERM; elsewhere the filter says EPERM by itself.
"""

from __future__ import annotations

import ctypes
import platform
import struct

from ptxlab.course.sandbox.syscalls import NUMBERS

FILES = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek open openat openat2 creat close
close_range stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 getdents getdents64 getcwd
chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat readlink
readlinkat ftruncate fallocate fadvise64 readahead fsync fdatasync umask dup dup2 dup3 pipe pipe2 poll ppoll select
pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 sendfile
copy_file_range
"""
MEMORY = "mmap mprotect munmap mremap brk madvise mincore msync membarrier map_shadow_stack"
ITSELF = """
exit exit_group getpid gettid getppid getuid geteuid getgid getegid getgroups getresuid getresgid getpgrp getrusage
getrlimit uname sysinfo times time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm setitimer
getitimer pause getrandom getcpu arch_prctl capget wait4 waitid rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending
rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall sched_yield sched_getaffinity sched_getparam
sched_getscheduler sched_get_priority_max sched_get_priority_min set_tid_address set_robust_list rseq futex
futex_waitv futex_wake futex_wait futex_requeue
"""
ALLOWED = tuple(f"{FILES} {MEMORY} {ITSELF}".split())
"""What is allowed whatever its arguments are. Files and folders are Landlock's and the namespaces' affair."""
FIRST_WORDS: dict[str, tuple[int, tuple[int, ...]]] = {
    # call -> (which argument, the values of it that are allowed)
    "fcntl": (1, (0, 1, 2, 3, 1030, 1032)),  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ
    "ioctl": (1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),
    # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
    "prctl": (0, (15, 16, 0x53564D41)),  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (glibc names its memory)
}
QUIET = """
clone3 mbind set_mempolicy get_mempolicy set_mempolicy_home_node sched_setaffinity sched_setscheduler sched_setparam
sched_setattr sched_getattr setpriority getpriority ioprio_set mlock mlock2 mlockall munlock munlockall inotify_init
inotify_init1 getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr statmount listmount cachestat
get_robust_list
"""
"""What libraries try although they can do without: refused as not there (ENOSYS), and not worth a word."""

_ALLOW, _REFUSE, _MISSING, _KILL, _NOTIFY = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000, 0x7FC00000
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_CLONE_THREAD, _O_ASYNC, _X32 = 0x00010000, 0x2000, 0x40000000
_TSYNC, _NEW_LISTENER, _TSYNC_ESRCH = 1, 8, 16
_Op = tuple[int, int, int, int]


def machine() -> str:
    """The architecture, as `NUMBERS` has it; "" where there is no table."""
    name = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return name if name in NUMBERS else ""


def number(name: str) -> int:
    """The number of a system call here; -1 where there is none."""
    return NUMBERS.get(machine(), {}).get(name, -1)


def load(at: int) -> _Op:
    """The operation that loads a word of what the filter sees: the number at 0, the architecture at 4, arguments
    from 16."""
    return (_LOAD, 0, 0, at)


def give(verdict: int) -> _Op:
    """The operation that ends the filter."""
    return (_RETURN, 0, 0, verdict)


def low(argument: int) -> _Op:
    """Loads the lower half of an argument."""
    return load(16 + 8 * argument)


def when(call: int, body: list[_Op]) -> list[_Op]:
    """Operations for one system call; `body` has to end the filter on every way."""
    return [(_EQUAL, 0, len(body), call), *body]


def start() -> list[_Op]:
    """How each filter begins: another architecture's calls, whose numbers mean something else, end the process."""
    return [load(4), (_EQUAL, 1, 0, _AUDIT[machine()]), give(_KILL), load(0)]


def program(*, notify: bool, says: int) -> list[_Op]:
    """The filter. says: the file descriptor through which the listener is sent, the one socket there is."""
    refuse = give(_NOTIFY if notify else _REFUSE)
    numbers = NUMBERS[machine()]
    # x32's numbers mean calls of x86-64 that the list below would not know; arm64 has no numbers that high
    ops = [*start(), (_AT_LEAST, 0, 1, _X32), give(_KILL)]
    for name in ALLOWED:
        if name in numbers:
            ops += when(numbers[name], [give(_ALLOW)])
    for name in QUIET.split():
        if name in numbers:
            ops += when(numbers[name], [give(_MISSING)])
    for name, (argument, values) in FIRST_WORDS.items():
        body = [low(argument)]
        for value in values:
            body += [(_EQUAL, 0, 1, value), give(_ALLOW)]
        if name == "fcntl":  # F_SETFL, but for O_ASYNC: no signals to whomever F_SETOWN named
            body += [(_EQUAL, 0, 4, 4), low(2), (_ANY_BIT, 1, 0, _O_ASYNC), give(_ALLOW), refuse]
        ops += when(numbers[name], [*body, refuse])
    # a thread may be made (the listener counts them), a process may not
    thread = give(_NOTIFY if notify else _ALLOW)
    ops += when(numbers["clone"], [low(0), (_ANY_BIT, 0, 1, _CLONE_THREAD), thread, refuse])
    # its own limits: nobody without privileges can raise them above what they are
    ops += when(numbers["prlimit64"], [low(0), (_EQUAL, 0, 1, 0), give(_ALLOW), refuse])
    ops += when(numbers["sendmsg"], [low(0), (_EQUAL, 0, 1, says & 0xFFFFFFFF), give(_ALLOW), refuse])
    newest = max(numbers.values())
    return [*ops, (_AT_LEAST, 0, 1, newest + 1), give(_MISSING), refuse]


def install(ops: list[_Op], *, listener: bool = False) -> int:
    """Puts a filter on all threads of this process: the listener's file descriptor (0 where none is asked for), or -1
    if the kernel would not."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *op) for op in ops))
    head = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(ops), ctypes.addressof(code)))
    flags = _TSYNC | (_NEW_LISTENER | _TSYNC_ESRCH if listener else 0)
    found: int = libc.syscall(number("seccomp"), 1, ctypes.c_ulong(flags), head)  # SECCOMP_SET_MODE_FILTER
    return found


def refuse_calls(calls: tuple[str, ...], *, missing: bool = True) -> bool:
    """Makes system calls fail in this process and those it starts, as on a machine that has none of them."""
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    ops = start()
    for name in calls:
        ops += when(number(name), [give(_MISSING if missing else _REFUSE)])
    return install([*ops, give(_ALLOW)]) == 0

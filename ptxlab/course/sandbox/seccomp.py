"""The system calls that an answer's process may make: an allow-list, of which libseccomp makes a filter.

What is not listed is refused. Where the kernel can (Linux 5.7), a refused call waits until `Listener` has noted its
name and told it EPERM; elsewhere the filter says EPERM by itself.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import sys
from typing import Any

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

_ALLOW, _NOTIFY, _KILL = 0x7FFF0000, 0x7FC00000, 0x80000000
_ERROR = 0x00050000
"""With an error's number: the call fails so."""
_BAD_ARCHITECTURE, _ALL_THREADS = 2, 4
_MASKED_EQUAL = 7
_NOTIFIES = 6
"""libseccomp's level at which a filter for all threads may ask a listener: version 2.5, Linux 5.7."""
_LOW = 0xFFFFFFFF
_CLONE_THREAD, _O_ASYNC, _F_SETFL = 0x00010000, 0x2000, 4


class _Condition(ctypes.Structure):
    """`scmp_arg_cmp`: the bits of an argument that a mask keeps are those of a value."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("is", ctypes.c_int),
        ("mask", ctypes.c_uint64),
        ("value", ctypes.c_uint64),
    )


@functools.cache
def library() -> Any:
    """libseccomp; None where there is none."""
    try:
        found = ctypes.CDLL("libseccomp.so.2") if sys.platform == "linux" else None
    except OSError:
        return None
    if found is not None:
        found.seccomp_init.restype = ctypes.c_void_p
        found.seccomp_syscall_resolve_num_arch.restype = ctypes.c_char_p
    return found


@functools.cache
def name(number: int) -> str:
    """What a system call is called here; "" for one that libseccomp does not know."""
    found = library().seccomp_syscall_resolve_num_arch(library().seccomp_arch_native(), number)
    return (found or b"").decode()


def program(*, notify: bool, says: int) -> ctypes.c_void_p:
    """The filter. says: the file descriptor through which the listener is sent, the one socket there is."""
    lib = library()
    refuse = _NOTIFY if notify else _ERROR | errno.EPERM
    made = ctypes.c_void_p(lib.seccomp_init(refuse))
    # another architecture's numbers mean something else, and so do those of x32 on x86-64
    lib.seccomp_attr_set(made, _BAD_ARCHITECTURE, _KILL)
    lib.seccomp_attr_set(made, _ALL_THREADS, 1)

    def rule(action: int, call: str, *conditions: tuple[int, int, int]) -> None:
        """What becomes of a call, if its arguments are so: (argument, mask, value)."""
        number = lib.seccomp_syscall_resolve_name(call.encode())
        given = [_Condition(argument, _MASKED_EQUAL, mask, value) for argument, mask, value in conditions]
        if number != -1:
            lib.seccomp_rule_add_array(made, action, number, len(given), (_Condition * len(given))(*given))

    for call in ALLOWED:
        rule(_ALLOW, call)
    for call in QUIET.split():
        rule(_ERROR | errno.ENOSYS, call)
    for call, (argument, values) in FIRST_WORDS.items():
        for value in values:
            rule(_ALLOW, call, (argument, _LOW, value))
    # no signals to whomever F_SETOWN named
    rule(_ALLOW, "fcntl", (1, _LOW, _F_SETFL), (2, _O_ASYNC, 0))
    if not notify:  # a thread may be made (a listener counts them), a process may not
        rule(_ALLOW, "clone", (0, _CLONE_THREAD, _CLONE_THREAD))
    # its own limits: nobody without privileges can raise them above what they are
    rule(_ALLOW, "prlimit64", (0, _LOW, 0))
    rule(_ALLOW, "sendmsg", (0, _LOW, says & _LOW))
    return made


def install(*, notify: bool, says: int) -> int:
    """Puts the filter on all threads of this process: the listener's file descriptor (0 without `notify`), or -1 if the
    kernel would not."""
    if notify and library().seccomp_api_get() < _NOTIFIES:
        return -1
    made = program(notify=notify, says=says)
    if library().seccomp_load(made):
        return -1
    return int(library().seccomp_notify_fd(made)) if notify else 0

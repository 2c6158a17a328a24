"""Grading submissions that nobody trusts: an answer runs in a process of its own, its mark is made in another.

Reading order: `submission` (which cells an exercise needs), `wire` (what may pass between processes), `student` (the
process that runs the answer), `remote` (an answer as the grader sees it), `process` (that process from the grader's
side), `examine` (one submission), `ptxlab.course.class_grading` (a class of them).

What an answer's process may not do: `confinement` (what works on this machine), `namespaces` (a machine of its own),
`isolation` (the layers beneath), `landlock` (files), `seccomp` (system calls), `listener` and
`attempts` (what was refused), `tree` and `reaper` (nothing is left).
"""

"""Grading submissions that nobody trusts: an answer runs in a process of its own, its mark is made in another.

Reading order: `submission` (which cells an exercise needs), `wire` (what may pass between processes), `student` (the
process that runs the answer), `isolation` (what that process may not do), `remote` (an answer as the grader sees it),
`examine` (one submission), `ptxlab.course.grade` (a class of them).
"""

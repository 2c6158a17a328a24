"""The course: exercises with checks that grade on mechanism, and the gallery of bugs to find.

from ptxlab.course import check

check("01-rescale", kernel)          # runs the answer, looks at what happened in each thread, and says so
pl.gallery(7)                        # exhibit 7 of `ptxlab.course.gallery`: a bug, what finds it, its repair
"""

from __future__ import annotations

from ptxlab.course.check import Feedback, check, exercises

__all__ = ["Feedback", "check", "exercises"]

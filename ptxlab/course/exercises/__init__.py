"""The exercises: `eNN_name.py` has those of one notebook, `EXERCISES`, a tuple of `ptxlab.course.Exercise`."""

"""The course's pictures: SVG that is drawn from runs, traces and tables of ptxlab itself, for light and dark pages.

from ptxlab.course import pictures

pictures.grid(blocks=4, block=128, elements=500)   # who has an element, as a run of the emulator saw it
pictures.memory()                                     # the levels of memory: sizes and costs
pictures.way_of_a_tile()                             # global memory, shared memory, a fragment: from a run
pictures.pipeline({2: schedule(6, 2)})               # copies and products in time, animated
pictures.pages(cache)                                # block tables and the pool of a `pl.PagedCache`
"""

from __future__ import annotations

from ptxlab.course.pictures.drawing import Picture
from ptxlab.course.pictures.memory_levels import memory
from ptxlab.course.pictures.page_tables import pages
from ptxlab.course.pictures.thread_grid import grid
from ptxlab.course.pictures.tile_way import way_of_a_tile
from ptxlab.course.pictures.timeline import pipeline

__all__ = ["Picture", "grid", "memory", "pages", "pipeline", "way_of_a_tile"]

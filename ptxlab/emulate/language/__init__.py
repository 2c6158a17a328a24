"""The language of the rules: typed Python that runs as it is, and that the JIT translates.

Reading order: `types` (numbers, lanes, pointers), `records` (memory that both sides share), `vectors` (operations on 32
lanes at once), `rules` (the decorator). `docs/design/rules.md` describes the language.
"""

from ptxlab.emulate.language.records import *
from ptxlab.emulate.language.rules import *
from ptxlab.emulate.language.types import *
from ptxlab.emulate.language.vectors import *

__all__ = [
    "ALL_LANES", "Array", "Pointer", "Record", "Ref", "Rule", "all_of", "any_of", "array", "atomic", "bits", "boolean",
    "clear", "copy_bytes", "count", "distinct", "either", "exchanged", "extract", "fill_bytes", "first", "gather",
    "i32", "i64", "insert", "lane_ids", "lanes", "lanes_bool", "lanes_of", "lanes_u32", "lanes_u64", "last", "least",
    "load_lanes", "load_row", "local", "maximum", "minimum", "narrow", "reversed_bits", "reversed_lanes", "row_bool",
    "row_ids", "row_u32", "row_u64", "rule", "rule_of", "scatter", "select", "splat", "store_lanes", "store_row", "u8",
    "u16", "u32", "u64", "unlike", "widen",
]  # fmt: skip

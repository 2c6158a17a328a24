"""Why `validate` and NVIDIA's assembler differ on some mutated texts: the causes that are known and left."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptxlab.isa import examples


@dataclass(frozen=True)
class Difference:
    """A text that one of the two refuses. who: "ptxlab" or "assembler"; message: what it says."""

    who: str
    message: str
    ptx: str


def changed(ptx: str) -> str:
    """The lines of a text that are not in every one, in one line."""
    common = set(examples.DECLARATIONS.splitlines()) | {"{", "}", "done:", "ret;", ".address_size 64"}
    lines = [
        line for line in ptx.splitlines() if line not in common and ".entry" not in line and "table[64]" not in line
    ]
    return " | ".join(lines)


@dataclass(frozen=True)
class Cause:
    """Why the two differ on some texts. who: the one that refuses; said, line: what its message and the text hold."""

    name: str
    who: str
    said: str
    line: str
    why: str

    def explains(self, difference: Difference) -> bool:
        """Whether a difference is of this cause."""
        found = re.search(self.said, difference.message) and re.search(self.line, changed(difference.ptx))
        return difference.who == self.who and found is not None


MANUAL = "No form of the manual, and no compiler writes it: an undocumented leniency of this assembler."
INSIDE = "An error inside the assembler, without a reason or a line; the manual has no rule that it follows from."
TABLE_LACKS = "The instruction table does not say it yet."
KNOWN = (
    Cause("wgmma without .aligned", "ptxlab", r"^wgmma needs \.aligned here", r"\bwgmma\.", MANUAL),
    Cause(
        "red.async and st.async without the mbarrier",
        "ptxlab",
        r"takes 3 operands .*; found 2$",
        r"\b(red|st)\.async\S* [^,]+, [^\[]+(;|$)",
        MANUAL,
    ),
    Cause(
        "prefetch with an eviction priority but without .global",
        "ptxlab",
        r"^prefetch needs \.global here; found \.L2::evict",
        r"\bprefetch\.L2::evict",
        MANUAL,
    ),
    Cause(
        "eight elements of 8 or 16 bits",
        "ptxlab",
        r"^(ld|st) does not take \.v8 here|needs \.type here",
        r"\b(ld|st)\.\S*v8\.[bus](8|16)\b",
        MANUAL,
    ),
    Cause(
        "set.bf16 of another type",
        "ptxlab",
        r"^set needs \.bf16 here; found \.[usf]16",
        r"\bset\.\S*bf16\.[usf]16",
        MANUAL,
    ),
    Cause("testp without what it tests", "ptxlab", r"^testp needs \.test here", r"\btestp\.f(32|64) ", MANUAL),
    Cause("a type too many in mma and wmma", "ptxlab", r"^w?mma does not take \.\w+ here", r"\bw?mma\.", MANUAL),
    Cause(
        "multimem.st and multimem.red with .acc::f32",
        "ptxlab",
        r"^multimem does not take \.acc::f32 here",
        r"\bmultimem\.(st|red)\S*\.acc::f32",
        MANUAL,
    ),
    Cause(
        "a compiler error",
        "assembler",
        r"Internal compiler error|^nvJitLink failed with ERROR_PTX_COMPILE$",
        r"",
        INSIDE,
    ),
    Cause(
        "the coordinates of a surface or texture, counted",
        "assembler",
        r"^Operand vector size doesn't match geometry",
        r"\b(sust|suld|sured|tex|tld4)\.",
        TABLE_LACKS,
    ),
    Cause(
        "cache hints on shared memory",
        "assembler",
        r"'\.(L2::cache_hint|evict_\w+)' cannot be applied to|^State space incorrect for feature 'cache",
        r"L[12]::",
        TABLE_LACKS,
    ),
    Cause(
        "`|p` where there is no second result",
        "assembler",
        r"^Predicate output not allowed for instruction '(fns|movmatrix)'",
        r"\b(fns|movmatrix)\.\S* %r\d+\|%p",
        TABLE_LACKS,
    ),
    Cause(
        "fence with a space after it",
        "ptxlab",
        r"^fence does not take \.(shared::c|sync_restrict)",
        r"\bfence\.proxy\.(async|tensormap)::generic\.",
        MANUAL,
    ),
    Cause(
        "movmatrix of a predicate",
        "ptxlab",
        r"^movmatrix\S* takes 32 bits here; \S+ is \.pred",
        r"\bmovmatrix\.\S* .*%p",
        MANUAL,
    ),
    Cause(
        "an address of a bulk copy without brackets",
        "ptxlab",
        r"^cp\.(reduce\.)?async\.bulk\S* takes an address in brackets here",
        r"\bcp\.(reduce\.)?async\.bulk\.",
        MANUAL,
    ),
    Cause(
        "what is stored to a surface where a number may stand for a vector",
        "assembler",
        r"^Arguments mismatch for instruction 'sust\.[bp]'",
        r"\bsust\.[bp]\.\S*\.v[24]\.",
        TABLE_LACKS,
    ),
    Cause(
        "256 bits in one access, before sm_100",
        "assembler",
        r"^Feature '256 bit wide load/store' requires",
        r"\b(ld|st)\.\S*v4\.[busf]64",
        TABLE_LACKS,
    ),
    Cause(
        "im2col offsets",
        "assembler",
        r"^(Arguments mismatch for instruction 'cp\.async\.bulk|Vector expected for arg|.*vector size mismatch)",
        r"\bcp\.(reduce\.)?async\.bulk\.\S*im2col",
        TABLE_LACKS,
    ),
    Cause(
        "braces around an operand of a bulk copy",
        "assembler",
        r"^Arguments mismatch for instruction 'cp\.",
        r"\bcp\.\S*async\.bulk\S* .*[ ,]\{",
        TABLE_LACKS,
    ),
    Cause("32-bit addresses of multimem", "assembler", r"^32-Bit ABI ", r"\bmultimem\.\S* .*\[%r\d", TABLE_LACKS),
    Cause(
        "a parameter whose name is a range",
        "assembler",
        r"cannot be allocated in \.param state space",
        r"\.param .*<\d",
        TABLE_LACKS,
    ),
    Cause(
        "a number or a sum that cvt makes tf32 or a pair of",
        "assembler",
        r"^Arguments mismatch for instruction '(mov|cvt)'",
        r"\bcvt\.\S*(tf32\.f32|x2\.e\dm\dx2) ",
        TABLE_LACKS,
    ),
    Cause(
        "a label among wgmma's operands",
        "assembler",
        r"^Arguments mismatch for instruction 'wgmma",
        r"\bwgmma\.mma_async\.\S* \{[^}]*\}.*, done,",
        TABLE_LACKS,
    ),
    Cause(
        "the optional operands of tex",
        "assembler",
        r"^Arguments mismatch for instruction '(tex(\.\w+)?|tld4)'$",
        r"\b(tex|tld4)\.",
        TABLE_LACKS,
    ),
    Cause(
        "a field of a tensor map in tensormap.cp_fenceproxy",
        "ptxlab",
        r"^tensormap does not take \.\w+ here",
        r"\btensormap\.cp_fenceproxy\.",
        MANUAL,
    ),
    Cause(
        "a tensor map without coordinates",
        "assembler",
        r"^Arguments mismatch for instruction 'cp\.(reduce\.)?async\.bulk(\.prefetch)?\.tensor'",
        r"\bcp\.\S*tensor\.",
        TABLE_LACKS,
    ),
    Cause(
        "an eviction priority beside a cache operator",
        "assembler",
        r"^Modifier '\.evict_\w+' cannot be combined with modifier '\.c[agsv]'",
        r"\.c[agsv]\..*L1::evict",
        TABLE_LACKS,
    ),
    Cause(
        "a label as the result of mov",
        "assembler",
        r"^Arguments mismatch for instruction 'mov'",
        r"\bmov\.\S* done,",
        TABLE_LACKS,
    ),
    Cause(
        "a special register in wgmma and tex",
        "assembler",
        r"^Special register argument not allowed for instruction '(wgmma|tex)",
        r"\b(wgmma|tex)\.",
        TABLE_LACKS,
    ),
    Cause(
        "vector moves",
        "assembler",
        r"^(Arg.* mismatch for instruction 'mov'|Result vector expected)",
        r"\bmov\.(\S*v[24]|b128|\w+ \{)",
        TABLE_LACKS,
    ),
    Cause(
        "a minus before a register",
        "assembler",
        r"^Operand negation (not allowed|limited)",
        r"[ ,]-%",
        TABLE_LACKS,
    ),
    Cause(
        "registers of multimem.st and multimem.red",
        "assembler",
        r"^Arguments mismatch for instruction 'multimem\.(st|red)'",
        r"\bmultimem\.(st|red)\.",
        TABLE_LACKS,
    ),
    Cause(
        "the state space of multimem's address",
        "assembler",
        r"^State space mismatch between instruction and address in instruction 'multimem",
        r"\bmultimem\.",
        TABLE_LACKS,
    ),
    Cause(
        "a sum of which a video instruction selects a part",
        "assembler",
        r"^Incorrect video selector",
        r"\bv\w+\.\S* .*%r\d\+",
        TABLE_LACKS,
    ),
    Cause(
        "the index of an array of cubes", "assembler", r"^Array index in the 'tex", r"\btex\.\S*acube\.", TABLE_LACKS
    ),
    Cause(
        "a depth or an offset beside cubes",
        "assembler",
        r"^Illegal modifier '\.a?cube' for instruction 'tex'",
        r"\btex\.a?cube\.\S* .*\], ",
        TABLE_LACKS,
    ),
    Cause(
        "a number for stackrestore", "assembler", r"^Result register required", r"\bstackrestore\.\S* -?\d", TABLE_LACKS
    ),
    Cause(
        "WARP_SZ as a predicate",
        "assembler",
        r"^Arguments mismatch for instruction 'set'",
        r"\bset\..*WARP_SZ",
        TABLE_LACKS,
    ),
    Cause(
        "the mask of a multicast", "assembler", r"must be 16-bit size", r"\bcp\.async\.bulk\.\S*multicast", TABLE_LACKS
    ),
    Cause("rcp.ftz.f64", "ptxlab", r"^rcp does not take \.ftz here", r"\brcp\.r[nzmp]\.ftz\.f64", MANUAL),
    Cause(
        "a cache operator behind sust's clamp",
        "ptxlab",
        r"^sust does not take \.w[bt] here",
        r"\bsust\.\S*\.w[bt] ",
        MANUAL,
    ),
    Cause("a fourth operand of atom", "ptxlab", r"^atom\S* takes a cache policy only with", r"\batom\.", MANUAL),
    Cause(
        "signed types of setmaxnreg and getctarank",
        "ptxlab",
        r"^(setmaxnreg|getctarank) needs .*; found \.s32",
        r"\b(setmaxnreg|getctarank)\.\S*s32 ",
        MANUAL,
    ),
    Cause("st.async of two registers", "ptxlab", r"^st\.async\S* takes no braces here", r"\bst\.async\.", MANUAL),
    Cause(
        "braces around the level of tex.level",
        "ptxlab",
        r"^tex\.level\S* takes no braces here",
        r"\btex\.level\.",
        MANUAL,
    ),
    Cause(
        "st.async with .shared alone", "ptxlab", r"^st does not take \.shared here", r"\bst\.async\.shared\.", MANUAL
    ),
    Cause("fence.async", "ptxlab", r"^fence does not take \.async here", r"\bfence\.(\w+\.)?async\.", MANUAL),
    Cause(
        "one register in braces",
        "assembler",
        r"^Arguments mismatch for instruction '(mbarrier\.|istypep|ld'|stackrestore|wmma\.)"
        r"|^Vector operand is not allowed",
        r"\b(mbarrier|istypep|ld|stackrestore|suq|sured|wmma)\.\S* .*\{%\w+\}",
        TABLE_LACKS,
    ),
    Cause(
        "registers of multimem.ld_reduce",
        "assembler",
        r"^Arguments mismatch for instruction 'multimem\.ld_reduce'",
        r"\bmultimem\.ld_reduce\.",
        TABLE_LACKS,
    ),
    Cause(
        "`_` for an operand that is read",
        "assembler",
        r"^Parsing error near '_'",
        r"\b(fns|tex|tld4)\.\S* .*, _(;|,)",
        TABLE_LACKS,
    ),
    Cause("operands of fns", "assembler", r"^Arguments mismatch for instruction 'fns'", r"\bfns\.b32 ", TABLE_LACKS),
    Cause(
        "what sured.p adds",
        "assembler",
        r"^Arguments mismatch for instruction 'sured\.p'",
        r"\bsured\.p\.",
        TABLE_LACKS,
    ),
    Cause(
        "the fraction of createpolicy",
        "assembler",
        r"^Arg.* instruction 'createpolicy\.",
        r"\bcreatepolicy\.",
        TABLE_LACKS,
    ),
    Cause(
        "first values of a range of variables",
        "assembler",
        r"^Parsing error near '='",
        r"\.(const|global) .*<\d+> =",
        TABLE_LACKS,
    ),
)
"""The causes that are known and left."""


def known(difference: Difference) -> Cause | None:
    """The cause of a difference; None where it is not known."""
    return next((cause for cause in KNOWN if cause.explains(difference)), None)

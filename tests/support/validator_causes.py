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
PTXLAB_REFUSES = (
    ("wgmma without .aligned", r"^wgmma needs \.aligned here", r"\bwgmma\."),
    ("red.async and st.async without the mbarrier",
     "takes 3 operands .*; found 2$", r"\b(red|st)\.async\S* [^,]+, [^\[]+(;|$)"),
    ("prefetch with an eviction priority but without .global",
     r"^prefetch needs \.global here; found \.L2::evict", r"\bprefetch\.L2::evict"),
    ("eight elements of 8 or 16 bits",
     r"^(ld|st) does not take \.v8 here|needs \.type here", r"\b(ld|st)\.\S*v8\.[bus](8|16)\b"),
    ("set.bf16 of another type", r"^set needs \.bf16 here; found \.[usf]16", r"\bset\.\S*bf16\.[usf]16"),
    ("testp without what it tests", r"^testp needs \.test here", r"\btestp\.f(32|64) "),
    ("a type too many in mma and wmma", r"^w?mma does not take \.\w+ here", r"\bw?mma\."),
    ("multimem.st and multimem.red with .acc::f32",
     r"^multimem does not take \.acc::f32 here", r"\bmultimem\.(st|red)\S*\.acc::f32"),
    ("fence with a space after it",
     r"^fence does not take \.(shared::c|sync_restrict)", r"\bfence\.proxy\.(async|tensormap)::generic\."),
    ("movmatrix of a predicate", r"^movmatrix\S* takes 32 bits here; \S+ is \.pred", r"\bmovmatrix\.\S* .*%p"),
    ("an address of a bulk copy without brackets",
     r"^cp\.(reduce\.)?async\.bulk\S* takes an address in brackets here", r"\bcp\.(reduce\.)?async\.bulk\."),
    ("a field of a tensor map in tensormap.cp_fenceproxy",
     r"^tensormap does not take \.\w+ here", r"\btensormap\.cp_fenceproxy\."),
    ("rcp.ftz.f64", r"^rcp does not take \.ftz here", r"\brcp\.r[nzmp]\.ftz\.f64"),
    ("a cache operator behind sust's clamp", r"^sust does not take \.w[bt] here", r"\bsust\.\S*\.w[bt] "),
    ("a fourth operand of atom", r"^atom\S* takes a cache policy only with", r"\batom\."),
    ("signed types of setmaxnreg and getctarank",
     r"^(setmaxnreg|getctarank) needs .*; found \.s32", r"\b(setmaxnreg|getctarank)\.\S*s32 "),
    ("st.async of two registers", r"^st\.async\S* takes no braces here", r"\bst\.async\."),
    ("braces around the level of tex.level", r"^tex\.level\S* takes no braces here", r"\btex\.level\."),
    ("st.async with .shared alone", r"^st does not take \.shared here", r"\bst\.async\.shared\."),
    ("fence.async", r"^fence does not take \.async here", r"\bfence\.(\w+\.)?async\."),
)  # fmt: skip
"""What only ptxlab refuses: a name, what its message holds, what the text holds."""
ASSEMBLER_REFUSES = (
    ("the coordinates of a surface or texture, counted",
     "^Operand vector size doesn't match geometry", r"\b(sust|suld|sured|tex|tld4)\."),
    ("cache hints on shared memory",
     r"'\.(L2::cache_hint|evict_\w+)' cannot be applied to|^State space incorrect for feature 'cache", "L[12]::"),
    ("`|p` where there is no second result",
     "^Predicate output not allowed for instruction '(fns|movmatrix)'", r"\b(fns|movmatrix)\.\S* %r\d+\|%p"),
    ("what is stored to a surface where a number may stand for a vector",
     r"^Arguments mismatch for instruction 'sust\.[bp]'", r"\bsust\.[bp]\.\S*\.v[24]\."),
    ("256 bits in one access, before sm_100",
     "^Feature '256 bit wide load/store' requires", r"\b(ld|st)\.\S*v4\.[busf]64"),
    ("im2col offsets",
     r"^(Arguments mismatch for instruction 'cp\.async\.bulk|Vector expected for arg|.*vector size mismatch)",
     r"\bcp\.(reduce\.)?async\.bulk\.\S*im2col"),
    ("braces around an operand of a bulk copy",
     r"^Arguments mismatch for instruction 'cp\.", r"\bcp\.\S*async\.bulk\S* .*[ ,]\{"),
    ("32-bit addresses of multimem", "^32-Bit ABI ", r"\bmultimem\.\S* .*\[%r\d"),
    ("a parameter whose name is a range", r"cannot be allocated in \.param state space", r"\.param .*<\d"),
    ("a number or a sum that cvt makes tf32 or a pair of",
     "^Arguments mismatch for instruction '(mov|cvt)'", r"\bcvt\.\S*(tf32\.f32|x2\.e\dm\dx2) "),
    ("a label among wgmma's operands",
     "^Arguments mismatch for instruction 'wgmma", r"\bwgmma\.mma_async\.\S* \{[^}]*\}.*, done,"),
    ("the optional operands of tex", r"^Arguments mismatch for instruction '(tex(\.\w+)?|tld4)'$", r"\b(tex|tld4)\."),
    ("a tensor map without coordinates",
     r"^Arguments mismatch for instruction 'cp\.(reduce\.)?async\.bulk(\.prefetch)?\.tensor'", r"\bcp\.\S*tensor\."),
    ("an eviction priority beside a cache operator",
     r"^Modifier '\.evict_\w+' cannot be combined with modifier '\.c[agsv]'", r"\.c[agsv]\..*L1::evict"),
    ("a label as the result of mov", "^Arguments mismatch for instruction 'mov'", r"\bmov\.\S* done,"),
    ("a special register in wgmma and tex",
     "^Special register argument not allowed for instruction '(wgmma|tex)", r"\b(wgmma|tex)\."),
    ("vector moves",
     "^(Arg.* mismatch for instruction 'mov'|Result vector expected)", r"\bmov\.(\S*v[24]|b128|\w+ \{)"),
    ("a minus before a register", "^Operand negation (not allowed|limited)", "[ ,]-%"),
    ("registers of multimem.st and multimem.red",
     r"^Arguments mismatch for instruction 'multimem\.(st|red)'", r"\bmultimem\.(st|red)\."),
    ("the state space of multimem's address",
     "^State space mismatch between instruction and address in instruction 'multimem", r"\bmultimem\."),
    ("a sum of which a video instruction selects a part", "^Incorrect video selector", r"\bv\w+\.\S* .*%r\d\+"),
    ("the index of an array of cubes", "^Array index in the 'tex", r"\btex\.\S*acube\."),
    ("a depth or an offset beside cubes",
     r"^Illegal modifier '\.a?cube' for instruction 'tex'", r"\btex\.a?cube\.\S* .*\], "),
    ("a number for stackrestore", "^Result register required", r"\bstackrestore\.\S* -?\d"),
    ("WARP_SZ as a predicate", "^Arguments mismatch for instruction 'set'", r"\bset\..*WARP_SZ"),
    ("the mask of a multicast", "must be 16-bit size", r"\bcp\.async\.bulk\.\S*multicast"),
    ("one register in braces",
     r"^Arguments mismatch for instruction '(mbarrier\.|istypep|ld'|stackrestore|wmma\.)"
     "|^Vector operand is not allowed",
     r"\b(mbarrier|istypep|ld|stackrestore|suq|sured|wmma)\.\S* .*\{%\w+\}"),
    ("registers of multimem.ld_reduce",
     r"^Arguments mismatch for instruction 'multimem\.ld_reduce'", r"\bmultimem\.ld_reduce\."),
    ("`_` for an operand that is read", "^Parsing error near '_'", r"\b(fns|tex|tld4)\.\S* .*, _(;|,)"),
    ("operands of fns", "^Arguments mismatch for instruction 'fns'", r"\bfns\.b32 "),
    ("what sured.p adds", r"^Arguments mismatch for instruction 'sured\.p'", r"\bsured\.p\."),
    ("the fraction of createpolicy", r"^Arg.* instruction 'createpolicy\.", r"\bcreatepolicy\."),
    ("first values of a range of variables", "^Parsing error near '='", r"\.(const|global) .*<\d+> ="),
)  # fmt: skip
"""What only the assembler refuses, likewise."""
KNOWN = (
    *(Cause(name, "ptxlab", said, line, MANUAL) for name, said, line in PTXLAB_REFUSES),
    Cause(
        "a compiler error", "assembler", "Internal compiler error|^nvJitLink failed with ERROR_PTX_COMPILE$", "", INSIDE
    ),
    *(Cause(name, "assembler", said, line, TABLE_LACKS) for name, said, line in ASSEMBLER_REFUSES),
)
"""The causes that are known and left; the first one that explains a difference is its cause."""


def known(difference: Difference) -> Cause | None:
    """The cause of a difference; None where it is not known."""
    return next((cause for cause in KNOWN if cause.explains(difference)), None)

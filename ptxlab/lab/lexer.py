"""Colours PTX: a Pygments lexer that knows guards, hexadecimal floats, `::` modifiers, labels and special registers."""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, default, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

_IDENTIFIER = r"(?:[A-Za-z_$][\w$]*|%[\w$]+)"
_END = r"(?![\w$])"

_DIRECTIVES = (
    "version", "target", "address_size", "file", "loc", "section", "pragma", "alias", "entry", "func", "visible",
    "extern", "weak", "common", "branchtargets", "calltargets", "callprototype", "maxnreg", "maxntid", "reqntid",
    "minnctapersm", "maxnctapersm", "noreturn", "explicitcluster", "reqnctapercluster", "maxclusterrank",
    "blocksareclusters", "abi_preserve", "abi_preserve_control", "attribute", "align", "ptr", "managed", "unified",
)  # fmt: skip
_SPACES = ("reg", "sreg", "const", "global", "local", "param", "shared", "tex")
_TYPES = (
    "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "f32",
    "f32x2", "f64", "bf16", "bf16x2", "tf32", "u16x2", "s16x2", "u8x4", "s8x4", "e4m3", "e5m2", "e4m3x2", "e5m2x2",
    "e4m3x4", "e5m2x4", "e2m1", "e2m1x2", "e2m1x4", "e2m3", "e2m3x2", "e2m3x4", "e3m2", "e3m2x2", "e3m2x4", "ue8m0",
    "ue8m0x2", "pred", "v2", "v4", "v8", "texref", "samplerref", "surfref",
)  # fmt: skip
_SPECIAL = (
    "tid", "ntid", "ctaid", "nctaid", "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "clusterid",
    "nclusterid", "cluster_ctaid", "cluster_nctaid", "cluster_ctarank", "cluster_nctarank", "is_explicit_cluster",
    "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "clock", "clock_hi", "clock64",
    "globaltimer", "globaltimer_lo", "globaltimer_hi", "reserved_smem_offset_begin", "reserved_smem_offset_end",
    "reserved_smem_offset_cap", "reserved_smem_offset_0", "reserved_smem_offset_1", "total_smem_size",
    "aggr_smem_size", "dynamic_smem_size", "current_graph_exec",
)  # fmt: skip
_UNDOTTED = ("bra", "call", "ret", "exit", "trap", "brkpt", "discard", "pmevent")


class PtxLexer(RegexLexer):
    """NVIDIA PTX.

    Instructions are `Keyword` with their modifiers `Keyword.Pseudo`, types `Keyword.Type`, directives `Name.Decorator`,
    state spaces `Keyword.Declaration`, registers `Name.Variable`, special registers `Name.Builtin`, labels
    `Name.Label`, hexadecimal floats `Number.Float`.
    """

    name = "PTX"
    aliases: ClassVar[list[str]] = ["ptx"]
    filenames: ClassVar[list[str]] = ["*.ptx"]
    mimetypes: ClassVar[list[str]] = ["text/x-ptx"]
    url = "https://docs.nvidia.com/cuda/parallel-thread-execution/"
    flags = re.ASCII

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"[ \t\r\n\f\v]+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (r'"', String.Double, "string"),
            (rf"(@)(\s*)(!?)(\s*)({_IDENTIFIER})", bygroups(Operator, Whitespace, Operator, Whitespace, Name.Variable)),
            (rf"({_IDENTIFIER})(\s*)(:)(?!:)", bygroups(Name.Label, Whitespace, Punctuation)),
            (words(_SPECIAL, prefix="%", suffix=rf"(?:\.[xyzw])?{_END}"), Name.Builtin),
            (rf"%(?:pm[0-7](?:_64)?|envreg[0-9]+){_END}", Name.Builtin),
            (r"%[\w$]+(?:\.\w+)?", Name.Variable),
            (rf"_{_END}", Name.Builtin.Pseudo),
            (rf"WARP_SZ{_END}", Name.Constant),
            (words(_UNDOTTED, suffix=_END), Keyword, "modifiers"),
            (r"[A-Za-z_]\w*(?=\.[A-Za-z0-9])", Keyword, "modifiers"),
            (r"[A-Za-z_$][\w$]*", Name),
            (words(_TYPES, prefix=r"\.", suffix=_END), Keyword.Type),
            (words(_SPACES, prefix=r"\.", suffix=_END), Keyword.Declaration),
            (words(_DIRECTIVES, prefix=r"\.", suffix=_END), Name.Decorator),
            (r"\.[A-Za-z_][\w$]*(?:::[\w$]+)*", Keyword.Pseudo),
            (r"0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b", Number.Float),
            (r"[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+", Number.Float),
            (r"0[xX][0-9a-fA-F]+U?\b", Number.Hex),
            (r"0[bB][01]+U?\b", Number.Bin),
            (r"0[0-7]+U?\b", Number.Oct),
            (r"[0-9]+U?\b", Number.Integer),
            (r"<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%!|&^~?=@]", Operator),
            (r"[{}\[\]()<>,;:]", Punctuation),
        ],
        "modifiers": [
            (words(_TYPES, prefix=r"\.", suffix=_END), Keyword.Type),
            (words(_SPACES, prefix=r"\.", suffix=r"(?:::\w+)?" + _END), Keyword.Declaration),
            (r"\.\w+(?:::\w+)*", Keyword.Pseudo),
            default("#pop"),
        ],
        "comment": [(r"[^*]+|\*(?!/)", Comment.Multiline), (r"\*/", Comment.Multiline, "#pop")],
        "string": [(r'[^"\\\n]+', String.Double), (r"\\.", String.Escape), (r'"|(?=\n)', String.Double, "#pop")],
    }

    @staticmethod
    def analyse_text(text: str) -> float:
        """How likely the text is PTX, from 0 to 1."""
        found = [re.search(rf"^\s*\.{word}\s", text, re.MULTILINE) for word in ("version", "target", "address_size")]
        return sum(match is not None for match in found) / 3

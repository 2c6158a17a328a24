"""Colours PTX: a Pygments lexer that knows guards, hexadecimal floats, `::` modifiers, labels and special registers."""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, default, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from ptxlab.isa import all_ops, types
from ptxlab.isa.special_registers import NAMES
from ptxlab.text.declarations import SPACES
from ptxlab.text.directives import DIRECTIVES

_IDENTIFIER = r"(?:[A-Za-z_$][\w$]*|%[\w$]+)"
_END = r"(?![\w$])"

_SPACES = tuple(space[1:] for space in SPACES)
_DIRECTIVES = tuple(word[1:] for word in DIRECTIVES)
TYPES = (*types.WIDTH, *types.SUB_BYTE, *types.OTHERS, *types.OPAQUE, *types.VECTORS)
UNDOTTED = tuple(sorted({entry.name for entry in all_ops() if not entry.required}))
"""Opcodes that may stand without a modifier, and so without the dot that tells an opcode from a name."""


class PtxLexer(RegexLexer):
    """NVIDIA PTX.

    Instructions are `Keyword` with their modifiers `Keyword.Pseudo`, types `Keyword.Type`, directives `Name.Decorator`,
    state spaces `Keyword.Declaration`, registers `Name.Variable`, special registers `Name.Builtin`, labels
    `Name.Label`, symbols that a compiler has named `Name.Other`, hexadecimal floats `Number.Float`.
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
            (words(NAMES, prefix="%", suffix=rf"(?:\.[xyzw])?{_END}"), Name.Builtin),
            (r"%[\w$]+(?:\.\w+)?", Name.Variable),
            (rf"_{_END}", Name.Builtin.Pseudo),
            (rf"WARP_SZ{_END}", Name.Constant),
            (words(UNDOTTED, suffix=_END), Keyword, "modifiers"),
            (r"[A-Za-z_]\w*(?=\.[A-Za-z0-9])", Keyword, "modifiers"),
            (r"_Z[\w$]*|\w+_param_\d+\b", Name.Other),
            (r"[A-Za-z_$][\w$]*", Name),
            (words(TYPES, prefix=r"\.", suffix=_END), Keyword.Type),
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
            (words(TYPES, prefix=r"\.", suffix=_END), Keyword.Type),
            (words(_SPACES, prefix=r"\.", suffix=r"(?:::\w+)?" + _END), Keyword.Declaration),
            (r"\.\w+(?:::\w+)*", Keyword.Pseudo),
            default("#pop"),
        ],
        "comment": [(r"[^*]+|\*(?!/)", Comment.Multiline), (r"\*/", Comment.Multiline, "#pop")],
        "string": [(r'[^"\\\n]+', String.Double), (r"\\.", String.Escape), (r'"|(?=\n)', String.Double, "#pop")],
    }

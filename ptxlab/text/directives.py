"""Directives: those of functions, such as `.maxntid`, and those outside of functions, such as `.target` and `.loc`."""

from __future__ import annotations

from ptxlab.text.declarations import LINKAGES, SPACES, Declarations
from ptxlab.text.lexer import Token
from ptxlab.text.model import Directive
from ptxlab.text.operands import found, literal

SOURCES = ".nv_intermediate_source_section"
"""A section that quotes the source which the compiler before this one has read."""
STARTS_ITEM = (*LINKAGES, ".entry", ".func")
WITH_SEMICOLON = (".pragma", ".alias", ".branchtargets", ".calltargets", ".callprototype")
WITHOUT_SEMICOLON = (".version", ".target", ".address_size", ".file", ".loc", ".loc_intermediate", ".section", SOURCES)
LABELLED = (".branchtargets", ".calltargets", ".callprototype")
WITHOUT_ARGUMENTS = (".noreturn", ".explicitcluster", ".blocksareclusters")
PERFORMANCE = (
    ".maxnreg", ".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".noreturn", ".pragma", ".attribute",
    ".explicitcluster", ".reqnctapercluster", ".maxclusterrank", ".blocksareclusters", ".abi_preserve",
    ".abi_preserve_control", ".language",
)  # fmt: skip
DIRECTIVES = (
    *WITHOUT_SEMICOLON, *WITH_SEMICOLON, *STARTS_ITEM, *PERFORMANCE,
    ".align", ".ptr", ".managed", ".unified", ".hidden",
)  # fmt: skip
"""Every directive, state spaces left out, with the words in front of declarations and in their attributes."""
THREE_SIZES = (".maxntid", ".reqntid", ".reqnctapercluster")
FROM_ZERO = (".abi_preserve", ".abi_preserve_control", ".maxclusterrank", ".reqnctapercluster", ".language")


class Directives(Declarations):
    """The part of the grammar that reads directives."""

    def performance(self, directives: dict[str, tuple[str, ...]]) -> None:
        token = self.tokens[self.at]
        if token.text not in PERFORMANCE:
            raise self.unknown("directive", token, PERFORMANCE)
        self.at += 1
        words: list[str] = []
        if token.text == ".attribute":
            words.append(self.attribute())
        elif token.text not in WITHOUT_ARGUMENTS:
            most = 3 if token.text in THREE_SIZES else 1
            words.append(self._performance_word(token))
            while self.take(","):
                if len(words) == most and token.text != ".pragma":
                    raise self.error(f"{token.text} takes at most {most} number{'s' * (most > 1)}")
                words.append(self._performance_word(token))
        if token.text == ".pragma":
            self.take(";")
        name = token.text[1:]
        several = directives.get(name, ()) if name in ("pragma", "attribute") else ()
        directives[name] = several + tuple(words)

    def _performance_word(self, directive: Token) -> str:
        token = self.tokens[self.at]
        if token.kind != ("string" if directive.text == ".pragma" else "number"):
            what = "a text in quotes" if directive.text == ".pragma" else "a number"
            raise self.error(f"expected {what} after {directive.text}; found {found(token)}")
        self.at += 1
        if token.kind == "string":
            return token.text
        kind, value, _ = literal(self, token)
        least = 0 if directive.text in FROM_ZERO else 1
        if kind != "int" or not least <= value < 1 << 32:
            wanted = f"a whole number from {least} to {(1 << 32) - 1}"
            raise self.error(f"{directive.text} takes {wanted}; found {token.text}", token)
        return str(value)

    # -- other directives

    def directive(self, label: str = "", start: int = -1) -> Directive:
        start = self.at if start < 0 else start
        token = self.tokens[self.at]
        name = token.text
        known = name in WITH_SEMICOLON or name in WITHOUT_SEMICOLON
        section = not known and self.depth == 0 and self.text(1) == "{"  # of a later compiler; `validate` refuses it
        if not known and not section:
            raise self.unknown("directive", token, WITH_SEMICOLON + WITHOUT_SEMICOLON + SPACES + LINKAGES)
        self.at += 1
        first = self.at
        if section or name in (".section", SOURCES):
            self._section(name)
        elif name in WITH_SEMICOLON:
            while self.text() != ";":
                following = self.tokens[self.at]
                if following.kind == "end" or following.text in ("{", "}"):
                    raise self.missing(f"';' after {name}", ";")
                self.at += 1
            self.at += 1
        elif name in (".loc", ".loc_intermediate"):
            self._location(name)
        else:
            self._plain(token)
        tokens = self.tokens[start : self.at]
        words = tuple(t.text for t in tokens[first - start :] if t.text not in (",", ";"))
        return Directive(name[1:], words, label, tuple(tokens), token.line)

    def _number_word(self, directive: str) -> None:
        token = self.tokens[self.at]
        if token.kind != "number":
            raise self.error(f"expected a number after {directive}; found {found(token)}")
        self.at += 1

    def _plain(self, directive: Token) -> None:
        """`.version 8.0`, `.target sm_80, debug`, `.address_size 64`, `.file 1 "a.cu", 1, 2`."""
        name, token = directive.text, self.tokens[self.at]
        if name == ".version":
            major, dot, minor = token.text.partition(".")
            if not (dot and major.isdecimal() and minor.isdecimal() and len(token.text) < 9):
                raise self.error(f"expected a version such as 8.0; found {found(token)}", hint=".version 8.0")
            self.at += 1
        elif name == ".address_size":
            if token.text not in ("32", "64"):
                raise self.error(f"expected 32 or 64; found {found(token)}", hint=".address_size 64")
            self.at += 1
        elif name == ".target":
            if token.kind == "number":
                said = f"expected a target such as sm_80; found {found(token)}"
                raise self.error(said, hint=f".target sm_{token.text}")
            self.word("a target such as sm_80")
            while self.take(","):
                self.word("a target such as sm_80")
        else:
            self._number_word(name)
            if self.tokens[self.at].kind != "string":
                raise self.error(f"expected the name of the file, in quotes; found {found(self.tokens[self.at])}")
            self.at += 1
            while self.take(","):
                self._number_word(name)

    def _location(self, name: str) -> None:
        """`.loc 1 20 3, function_name $L__info_string0+7, inlined_at 1 30 5`."""
        for _ in range(3):
            self._number_word(name)
        while self.text() == "," and self.text(1) in ("function_name", "inlined_at"):
            self.at += 2
            if self.text(-1) == "inlined_at":
                for _ in range(3):
                    self._number_word("inlined_at")
                continue
            self.word("the label of the function's name")
            if self.take("+"):
                self._number_word("+")

    def _section(self, name: str) -> None:
        """The name of a `.section`, and everything between two braces, of others braces inside included."""
        named = name == ".section"
        if named and self.tokens[self.at].kind not in ("directive", "word", "string"):
            raise self.error(f"expected the name of the section; found {found(self.tokens[self.at])}")
        self.at += named
        opening = self.expect("{", "to open the section" if named else f"after {name}")
        self.skip(opening, "}", "'}}' to close the section opened in {}", " }", ("{",) if named else ())

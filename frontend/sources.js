// Python and CUDA C++ for CodeMirror: comments, strings, numbers, keywords, and the names that a text defines.

import { StreamLanguage } from "@codemirror/language";
import { tags } from "./ptx.js";

const PYTHON =
  "and as assert break class continue def del elif else except finally for from global if import in is lambda match " +
  "nonlocal not or pass raise return try while with yield None True False";
const CUDA =
  "auto bool break case char class const constexpr continue default do double else enum extern float for half if inline int " +
  "long namespace operator return short signed sizeof static struct switch template typename union unsigned using void " +
  "volatile while true false __global__ __device__ __host__ __shared__ __constant__ __restrict__ __forceinline__ asm";
const STRING = /^[rbfu]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/i;
const NUMBER = /^(?:0x[\da-f]+|\.?\d[\d_.]*(?:e[+-]?\d+)?)[ful]*/i;

/** `line` begins a comment, `mark` is a decorator or a directive, `long` begins what may go over several lines. */
const language = (words, line, note, mark, long) =>
  StreamLanguage.define({
    startState: () => ({ until: "", defines: false }),
    token(stream, state) {
      if (!state.until && stream.eatSpace()) return null;
      const until = (state.until ||= (stream.match(long)?.[0] || "").replace(/^\w+/, "").replace("/*", "*/"));
      if (until) {
        if (stream.skipTo(until) && stream.match(until)) state.until = "";
        else stream.skipToEnd();
        return until === "*/" ? "note" : "text";
      }
      if (stream.match(note)) return "note";
      if (stream.match(mark)) return "mark";
      if (stream.match(STRING)) return "text";
      if (stream.match(NUMBER)) return "number";
      const word = stream.match(/^[A-Za-z_]\w*/)?.[0] ?? (stream.next() && ""),
        defined = state.defines && word ? "defined" : null;
      state.defines = ["def", "class", "struct", "void"].includes(word);
      return words.split(" ").includes(word) ? "keyword" : defined;
    },
    languageData: { commentTokens: { line }, closeBrackets: { brackets: ["(", "[", "{"] } },
    tokenTable: tags,
  });

export const python = language(PYTHON, "#", /^#.*/, /^@[\w.]+/, /^[rbfu]{0,2}("""|''')/i);
export const cuda = language(CUDA, "//", /^\/\/.*/, /^#\s*\w+/, /^\/\*/);

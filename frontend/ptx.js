// The PTX language for CodeMirror: words as ptxlab/lab/lexer.py tells them apart, with the same short class names.

import { HighlightStyle, StreamLanguage } from "@codemirror/language";
import { Tag } from "@lezer/highlight";
import * as words from "./words.js";

const classes = {
  opcode: "o",
  modifier: "m",
  directive: "d",
  typename: "t",
  register: "r",
  special: "x",
  labelname: "l",
  number: "n",
  text: "s",
  note: "c",
  keyword: "k",
  defined: "f",
  mark: "g",
};
export const tags = Object.fromEntries(Object.keys(classes).map((name) => [name, Tag.define()]));

const END = "(?![\\w$])";
const TYPES = new RegExp(`^\\.(?:${words.TYPES.join("|")})${END}`);
const SPECIAL = new RegExp(`^%(?:${words.SPECIAL.join("|")})(?:\\.[xyzw])?${END}`);
const UNDOTTED = new RegExp(`^(?:${words.UNDOTTED.join("|")})${END}`);

/** One token. `state.opcode` says that modifiers may follow, `state.note` that a comment of several lines is open. */
function token(stream, state) {
  if (state.note) {
    state.note = !stream.match(/.*?\*\//) && (stream.skipToEnd(), true);
    return "note";
  }
  if (stream.eatSpace()) {
    state.opcode = false;
    return null;
  }
  if (stream.match(/^\/\/.*/)) return "note";
  if (stream.match(/^\/\*/)) {
    state.note = true;
    return "note";
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "text";
  if (state.opcode && stream.match(TYPES)) return "modifier";
  if (state.opcode && stream.match(/^\.\w+(?:::\w+)*/)) return "modifier";
  state.opcode = false;
  if (stream.match(/^[A-Za-z_$][\w$]*(?=\s*:(?!:))/)) return "labelname";
  if (stream.match(SPECIAL) || stream.match(/^(?:WARP_SZ|_)(?![\w$])/)) return "special";
  if (stream.match(/^%[\w$]+/)) return "register";
  if (stream.match(UNDOTTED) || stream.match(/^[A-Za-z_]\w*(?=\.[A-Za-z0-9])/)) {
    state.opcode = true;
    return "opcode";
  }
  if (stream.match(/^[A-Za-z_$][\w$]*/)) return null;
  if (stream.match(TYPES)) return "typename";
  if (stream.match(/^\.[A-Za-z_][\w$]*/)) return "directive";
  if (
    stream.match(
      /^0[fF][0-9a-fA-F]{8}\b|^0[dD][0-9a-fA-F]{16}\b|^0[xX][0-9a-fA-F]+U?|^\d+(?:\.\d*)?(?:[eE][+-]?\d+)?U?/,
    )
  )
    return "number";
  stream.next();
  return null;
}

export const parser = {
  name: "ptx",
  startState: () => ({ opcode: false, note: false }),
  copyState: (state) => ({ ...state }),
  token,
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["(", "[", "{"] },
  },
  tokenTable: tags,
};
export const ptx = StreamLanguage.define(parser);

export const colours = HighlightStyle.define(
  Object.entries(classes).map(([name, css]) => ({ tag: tags[name], class: css })),
);

const WORD = /[%.]?[A-Za-z_$][\w$:]*(?:\.[\w$]+(?:::\w+)*)*/g;

/** The dotted word, register, directive or name around a place in a line: {from, to, word}, or null. */
export function wordAt(line, at, words = WORD) {
  for (const found of line.matchAll(words))
    if (found.index <= at && at <= found.index + found[0].length)
      return { from: found.index, to: found.index + found[0].length, word: found[0] };
  return null;
}

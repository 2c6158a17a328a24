// JupyterLab's cells in the language of their first line: %%ptx as PTX, %%cuda as C++, in place of the notebook's Python.
// A plugin of JupyterLab; the packages that it imports are JupyterLab's own.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { ViewPlugin } from "@codemirror/view";
import { EditorExtensionRegistry, IEditorExtensionRegistry, IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { parser, tags } from "./ptx.js";

const MAGIC = /^%%(ptx|cuda)\b/;

/** What a cell is written in: "ptx", "cuda", or "" for the language of the notebook. */
const kindOf = (firstLine) => MAGIC.exec(firstLine)?.[1] ?? "";

const colour = (name) => `var(--jp-mirror-editor-${name}-color)`;
const style = HighlightStyle.define([
  { tag: tags.opcode, color: colour("keyword"), fontWeight: "bold" }, { tag: tags.modifier, color: colour("property") },
  { tag: tags.directive, color: colour("meta") }, { tag: tags.typename, color: colour("variable-3") },
  { tag: tags.register, color: colour("variable-2") }, { tag: tags.special, color: colour("builtin") },
  { tag: tags.labelname, color: colour("def"), fontWeight: "bold" }, { tag: tags.number, color: colour("number") },
  { tag: tags.text, color: colour("string") }, { tag: tags.note, color: colour("comment"), fontStyle: "italic" },
]);

/** A language for a cell: its first line, the magic with its options, is a comment to it. */
function below(parser) {
  return {
    ...parser,
    startState: (unit) => ({ ...parser.startState(unit), first: true }),
    copyState: (state) => ({ ...state }),
    token(stream, state) {
      if (state.first && stream.sol() && stream.match(/^%%.*/)) return "directive";
      state.first = false;
      return parser.token(stream, state);
    },
  };
}
const cellPtx = [StreamLanguage.define(below(parser)), syntaxHighlighting(style)];

/** The editor extension of one cell that begins with `source`; `cuda()` promises the language of C++, or null. */
function followFirstLine(source, cuda) {
  const slot = new Compartment();
  let kind = kindOf(source);
  const set = (wanted) => slot.reconfigure(wanted === "ptx" ? Prec.highest(cellPtx) : []);
  const fill = (view) => kind === "cuda" && cuda().then((language) => {
    if (language?.support && kind === "cuda") view.dispatch({ effects: slot.reconfigure(Prec.highest(language.support)) });
  });
  return [
    slot.of(kind === "ptx" ? Prec.highest(cellPtx) : []),
    EditorState.transactionExtender.of((transaction) => {
      const now = transaction.docChanged ? kindOf(transaction.newDoc.line(1).text) : kind;
      if (now === kind) return null;
      kind = now;
      return { effects: set(now) };
    }),
    ViewPlugin.define((view) => {
      let shown = "";
      const look = () => {
        if (kind === shown) return;
        shown = kind;
        setTimeout(() => fill(view)); // a view takes no changes while it is being updated
      };
      look();
      return { update: look };
    }),
  ];
}

export default [{
  id: "ptxlab:cells",
  description: "Cells that begin with %%ptx or %%cuda are shown in their own language.",
  autoStart: true,
  requires: [IEditorExtensionRegistry, IEditorLanguageRegistry],
  activate: (_app, extensions, languages) => {
    const cuda = () => languages.getLanguage("text/x-c++src");
    extensions.addExtension({
      name: "ptxlab:cells",
      factory: (options) => EditorExtensionRegistry.createImmutableExtension(followFirstLine(options.model.sharedModel.source, cuda)),
    });
  },
}];

// JupyterLab's cells in the language of their first line: %%ptx as PTX, %%cuda as C++, in place of the notebook's Python;
// with what a word means where the mouse rests, and marks under what is wrong, which the notebook's kernel says.
// A plugin of JupyterLab; the packages that it imports are JupyterLab's own.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { linter } from "@codemirror/lint";
import { EditorView, ViewPlugin } from "@codemirror/view";
import { EditorExtensionRegistry, IEditorExtensionRegistry, IEditorLanguageRegistry } from "@jupyterlab/codemirror";
import { INotebookTracker } from "@jupyterlab/notebook";
import { parser, tags, wordAt } from "./ptx.js";
import { ask } from "./questions.js";
import { diagnostic, explained } from "./shown.js";
import "../ptxlab/lab/static/keys.js";

const WAIT = 400; // milliseconds without a key before the kernel is asked what is wrong
const MAGIC = /^%%(ptx|cuda)\b/;
const CPP = /(?:%%?)?[A-Za-z_]\w*(?:(?:::|\.)\w+)*/g; // a name of C++ with its namespace and members; in `asm` a word of PTX

/** What a cell is written in: "ptx", "cuda", or "" for the language of the notebook. */
const kindOf = (firstLine) => MAGIC.exec(firstLine)?.[1] ?? "";

const colour = (name) => `var(--jp-mirror-editor-${name}-color)`;
const style = HighlightStyle.define([
  { tag: tags.opcode, color: colour("keyword"), fontWeight: "bold" },
  { tag: tags.modifier, color: colour("property") },
  { tag: tags.directive, color: colour("meta") },
  { tag: tags.typename, color: colour("variable-3") },
  { tag: tags.register, color: colour("variable-2") },
  { tag: tags.special, color: colour("builtin") },
  { tag: tags.labelname, color: colour("def"), fontWeight: "bold" },
  { tag: tags.number, color: colour("number") },
  { tag: tags.text, color: colour("string") },
  { tag: tags.note, color: colour("comment"), fontStyle: "italic" },
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
  const fill = (view) =>
    kind === "cuda" &&
    cuda().then((language) => {
      if (language?.support && kind === "cuda")
        view.dispatch({ effects: slot.reconfigure(Prec.highest(language.support)) });
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

/** Docs at the mouse and marks under mistakes; `kernel()` is the notebook's, or nothing. */
function hints(kernel) {
  const hover = explained(
    (doc, line, at) => {
      const kind = kindOf(doc.line(1).text);
      return kind && line.number > 1 ? wordAt(line.text, at, kind === "cuda" ? CPP : undefined) : null;
    },
    (word, text) => ask(kernel(), "explain", { word, text }),
    300,
  );
  const marks = linter(
    async ({ state: { doc } }) => {
      if (!kindOf(doc.line(1).text)) return [];
      const items = await ask(kernel(), "check", { text: doc.toString() });
      return (items ?? []).map((item) => diagnostic(doc, item));
    },
    { delay: WAIT, needsRefresh: (update) => update.focusChanged && update.view.hasFocus },
  );
  return [hover, marks, look];
}
const look = EditorView.baseTheme({
  ".pl-doc": {
    padding: "4px 9px",
    maxWidth: "560px",
    maxHeight: "260px",
    overflow: "auto",
    font: "12px/17px var(--jp-ui-font-family)",
    color: "var(--jp-ui-font-color0)",
  },
  ".cm-tooltip:has(.pl-doc)": {
    background: "var(--jp-layout-color1)",
    border: "1px solid var(--jp-border-color1)",
    borderRadius: "6px",
  },
  ".pl-doc-title": { display: "flex", gap: "10px", justifyContent: "space-between", fontWeight: "600" },
  ".pl-doc .pl-note": { color: "var(--jp-ui-font-color1)", fontWeight: "400" },
  ".pl-doc p, .pl-doc dl": { margin: "2px 0" },
  ".pl-doc pre": {
    margin: "3px 0",
    padding: "2px 6px",
    whiteSpace: "pre-wrap",
    font: "11.5px/16px var(--jp-code-font-family)",
    background: "var(--jp-layout-color2)",
  },
  ".pl-doc dl": { display: "grid", gridTemplateColumns: "max-content 1fr", gap: "1px 10px" },
  ".pl-doc dd": { margin: "0" },
  ".pl-doc code": { fontFamily: "var(--jp-code-font-family)" },
  // Both classes, to stand above CodeMirror's own picture of a wave.
  ".cm-lintRange.cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--jp-error-color1) 1.5px",
    textDecorationSkipInk: "none",
    textUnderlineOffset: "3px",
  },
});

export default [
  {
    id: "ptxlab:cells",
    description: "Cells that begin with %%ptx or %%cuda are shown in their own language.",
    autoStart: true,
    requires: [IEditorExtensionRegistry, IEditorLanguageRegistry],
    optional: [INotebookTracker],
    activate: (_app, extensions, languages, notebooks) => {
      const kernelOf = (model) => () =>
        notebooks?.find(({ content }) => content.widgets.some((cell) => cell.model === model))?.sessionContext.session
          ?.kernel;
      const cuda = () => languages.getLanguage("text/x-c++src");
      extensions.addExtension({
        name: "ptxlab:cells",
        factory: (options) =>
          EditorExtensionRegistry.createImmutableExtension([
            followFirstLine(options.model.sharedModel.source, cuda),
            hints(kernelOf(options.model)),
          ]),
      });
    },
  },
];

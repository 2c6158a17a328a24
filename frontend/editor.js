// The editor: CodeMirror with our languages; what is wrong with PTX, what a word means and what may follow come from
// Python.

import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  tooltips,
} from "@codemirror/view";
import { colours, ptx, wordAt } from "./ptx.js";
import { diagnostic, element, explained } from "./shown.js";
import { cuda, python } from "./sources.js";
import "../ptxlab/lab/static/keys.js";

const PTX = "PTX",
  SOURCES = { Python: python, "CUDA C++": cuda };
const WAIT = 150; // milliseconds without a key before Python is asked
const PATIENCE = 2000; // milliseconds for an answer about a word

/** Questions to Python, each with a number; an answer that does not come is null. */
function makeQuestions(model) {
  const open = new Map();
  let last = 0;
  model.on("msg:custom", (answer) => {
    open.get(answer.id)?.(answer.value);
    open.delete(answer.id);
  });
  return (kind, content) =>
    new Promise((resolve) => {
      const id = ++last;
      open.set(id, resolve);
      model.send({ kind, id, ...content });
      setTimeout(() => {
        open.delete(id);
        resolve(null);
      }, PATIENCE);
    });
}

function render({ model, el }) {
  const ask = makeQuestions(model),
    options = model.get("options");
  const root = element("div", { className: "ptxlab-view ptxlab-editor", role: "region", "aria-label": "editor" });
  const status = element("p", { className: "pl-status", role: "status", "aria-live": "polite" });
  const list = element("ol", { className: "pl-problems", "aria-label": "problems" });
  const button = element(
    "button",
    { type: "button", className: "pl-apply", title: "Ctrl+Enter" },
    options.runs ? "Run ▶" : "Apply",
  );
  const output = element("div", { className: "pl-output" });
  const languages = element(
    "select",
    { "aria-label": "language", title: "what is edited: what the PTX is made from, or the PTX", onchange: turn },
    ...options.languages.map((name) => element("option", {}, name)),
  );
  const ptxas = element("input", {
    "aria-label": "ptxas options",
    title: "for registers, occupancy and SASS, not for a run: such as -O1 -maxrregcount 64",
    placeholder: "ptxas options",
    spellcheck: false,
    oninput: typed,
    onkeydown: (e) => void (e.key === "Enter" && apply()), // false would keep the key from the field
  });
  const foot = element(
    "div",
    { className: "pl-foot" },
    button,
    ...(options.languages.length > 1 ? [languages] : []),
    ...(options.ptxas ? [ptxas] : []),
    status,
  );
  let { seq, language } = model.get("edit"),
    timer = 0,
    ours = model.get("edit");
  const states = new Map(); // of the languages that are not shown
  let told = -1; // the text whose run the status line tells of: what is found in it later goes into the list alone

  function typed() {
    root.dataset.behind = "1";
    clearTimeout(timer);
    timer = setTimeout(send, WAIT);
  }

  function send() {
    clearTimeout(timer);
    timer = 0;
    const text = view.state.doc.toString();
    if (text === ours.text && ptxas.value === ours.ptxas) return;
    ours = { text, language, ptxas: ptxas.value, seq: ++seq };
    model.set("edit", ours);
    model.save_changes();
  }

  /** Asks for the text in the language that is chosen. */
  function turn() {
    send();
    model.send({ kind: "turn", language: languages.value, seq: ++seq });
  }

  function apply() {
    send();
    if (options.runs) root.dataset.running = String(seq);
    told = seq;
    status.textContent = options.runs ? "running" : "applied";
    model.send({ kind: "apply", text: view.state.doc.toString(), language, ptxas: ptxas.value, seq });
    return true;
  }

  const hover = explained(
    (_, line, at) => (language === PTX ? wordAt(line.text, at) : null),
    (word, text) => ask("explain", { word, text }),
    200,
  );

  async function suggest(context) {
    if (language !== PTX) return null;
    const before = context.matchBefore(/[%.]?[\w$:]*(?:\.[\w$:]*)*/);
    if (!context.explicit && (!before || before.from === before.to)) return null;
    const answer = await ask("complete", { at: context.pos, text: context.state.doc.toString() });
    if (!answer || !answer.options.length) return null;
    return {
      from: context.pos - answer.word.length,
      options: answer.options.map(([label, kind, says]) => ({
        label,
        type: kind,
        detail: kind,
        info: says || undefined,
        apply: label,
      })),
      validFor: /^[%.]?[\w$:]*$/,
    };
  }

  const stateOf = (doc) =>
    EditorState.create({
      doc,
      extensions: [
        tooltips({ position: "absolute", tooltipSpace: () => root.getBoundingClientRect() }),
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        SOURCES[language] || ptx,
        syntaxHighlighting(colours),
        hover,
        autocompletion({ override: [suggest], icons: false }),
        EditorState.tabSize.of(4),
        EditorState.readOnly.of(false),
        EditorView.contentAttributes.of({
          "aria-label": options.name ? `${language} of ${options.name}` : language,
          spellcheck: "false",
          tabindex: "0",
        }),
        keymap.of([
          { key: "Mod-Enter", run: apply, preventDefault: true },
          { key: "Mod-/", run: toggleComment },
          ...completionKeymap,
          ...lintKeymap,
          ...historyKeymap,
          ...defaultKeymap,
          ...(options.tab ? [indentWithTab] : []),
        ]),
        EditorView.updateListener.of((update) => update.docChanged && typed()),
      ],
    });
  const view = new EditorView({ parent: root, state: stateOf(ours.text) });
  languages.value = language;
  ptxas.value = ours.ptxas;
  root.append(foot, list, output);
  el.append(root);
  if (options.line > 1) {
    const { from } = view.state.doc.line(Math.min(options.line, view.state.doc.lines));
    view.dispatch({
      selection: { anchor: from },
      effects: EditorView.scrollIntoView(from, { y: "start", yMargin: 60 }),
    });
  }
  for (const kind of ["keydown", "keyup"]) root.addEventListener(kind, (event) => event.stopPropagation());
  button.onclick = apply;

  /** Marks what Python has found in a text, unless the text has changed meanwhile. */
  function lint() {
    const found = model.get("problems");
    if (!found || found.seq !== seq || timer) return; // stale
    view.dispatch(
      setDiagnostics(
        view.state,
        found.items.map((item) => diagnostic(view.state.doc, item)),
      ),
    );
    const count = found.count; // of many, Python explains and marks the first
    if (found.seq !== told) status.textContent = count ? `${count} problem${count === 1 ? "" : "s"}` : found.note;
    list.replaceChildren(
      ...found.items.slice(0, 8).map((item) =>
        element(
          "li",
          {},
          element(
            "button",
            {
              type: "button",
              onclick: () => {
                const at = diagnostic(view.state.doc, item).from;
                view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
                view.focus();
              },
            },
            `line ${item.line}`,
          ),
          ` ${item.message}`,
        ),
      ),
    );
    root.dataset.checked = `${found.seq}:${found.stage}`;
    delete root.dataset.behind;
  }

  function show() {
    const result = model.get("result");
    if (!result || !result.html) return output.replaceChildren();
    output.innerHTML = result.html; // made by Python from the run, with everything escaped
    delete root.dataset.running;
    root.dataset.ran = String(result.seq);
    status.textContent = result.says;
  }

  function changed() {
    const edit = model.get("edit"),
      now = view.state.doc.toString();
    if (edit.text === now && edit.language === language) return;
    seq = Math.max(seq, edit.seq);
    ours = edit;
    if (edit.language === language) view.dispatch({ changes: { from: 0, to: now.length, insert: edit.text } });
    else {
      states.set(language, view.state);
      languages.value = language = edit.language;
      const kept = states.get(language); // with what can be undone in it
      view.setState(kept?.doc.toString() === edit.text ? kept : stateOf(edit.text));
      view.dispatch({ scrollIntoView: true }); // to where it was left
    }
    clearTimeout(timer);
    timer = 0;
  }

  model.on("change:problems", lint);
  model.on("change:result", show);
  model.on("change:edit", changed);
  lint();
  show();
  return () => {
    model.off("change:problems", lint);
    model.off("change:result", show);
    model.off("change:edit", changed);
    view.destroy();
  };
}

export default { render };

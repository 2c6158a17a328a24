// What the editor and JupyterLab's cells show of PTX: the docs of a word, the marks of what is wrong.

import { hoverTooltip } from "@codemirror/view";

export const element = (tag, props = {}, ...children) => {
  const el = Object.assign(document.createElement(tag), props);
  for (const [key, value] of Object.entries(props))
    if (key.includes("-") || key === "role") el.setAttribute(key, value);
  el.append(...children);
  return el;
};

/** Prose with `words` in backticks set as code. */
const prose = (text) => text.split("`").map((part, k) => (k % 2 ? element("code", {}, part) : part));

/** What a word means, as lab/language.py explains it. */
export function docs(found) {
  const rows = (pairs, mark) =>
    pairs.flatMap(([word, says]) => [
      element("dt", {}, element("code", {}, word)),
      element("dd", {}, ...prose(says), mark),
    ]);
  return element(
    "div",
    { className: "pl-doc" },
    element(
      "div",
      { className: "pl-doc-title" },
      element("code", {}, found.word),
      element("span", { className: "pl-note" }, found.since || ""),
    ),
    element("p", {}, ...prose(found.says)),
    found.syntax ? element("pre", {}, found.syntax) : "",
    found.parts?.length ? element("dl", {}, ...rows(found.parts, "")) : "",
    found.operands?.length ? element("dl", {}, ...rows(found.operands, "")) : "",
    found.terms?.length
      ? element(
          "dl",
          {},
          ...found.terms.flatMap(([term, says]) => [element("dt", {}, term), element("dd", {}, ...prose(says))]),
        )
      : "",
  );
}

/** The docs of the word at the mouse. `wordIn(doc, line, at)` finds it, as `wordAt` does, `explain(word, text)` asks for them. */
export const explained = (wordIn, explain, hoverTime) =>
  hoverTooltip(
    async ({ state: { doc } }, place) => {
      const line = doc.lineAt(place),
        found = wordIn(doc, line, place - line.from),
        answer = found && (await explain(found.word, doc.toString()));
      const [pos, end] = found ? [line.from + found.from, line.from + found.to] : [0, 0];
      return answer ? { pos, end, above: false, create: () => ({ dom: docs(answer) }) } : null;
    },
    { hoverTime },
  );

/** What the editor shows of one problem that Python has found. */
export function diagnostic(doc, item) {
  const line = doc.line(Math.min(Math.max(1, item.line), doc.lines));
  const from = Math.min(line.from + Math.max(0, item.column - 1), line.to);
  const to = item.column ? Math.min(line.to, from + Math.max(1, item.length)) : line.to;
  return {
    from: item.column ? from : line.from + (line.text.length - line.text.trimStart().length),
    to: Math.max(to, from),
    severity: item.severity,
    message: item.message,
    renderMessage: () =>
      element(
        "div",
        { className: "pl-doc" },
        element("p", {}, item.message),
        ...item.more.map((says) => element("pre", {}, says)),
      ),
  };
}

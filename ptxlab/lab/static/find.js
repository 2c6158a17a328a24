// @ts-check
// Finding and copying in a pane of code, over its whole text: lines out of sight may not be elements yet.

import { button, h } from "./dom.js";

/** Puts the buttons into a bar, and takes Ctrl+F while the focus is in `area`; `pane()` is the one that is shown. */
export function addFinder(bar, area, pane) {
  const field = h("input.pl-find", {
    type: "search",
    hidden: true,
    "aria-label": "find in these lines",
    oninput: () => seek(0),
  });
  const found = h("span.pl-note", { "aria-live": "polite" }),
    finder = button("Find", "Ctrl+F", () => open(field.hidden), "pl-quiet"),
    copier = button("Copy", "all lines, to the clipboard", copy, "pl-quiet");
  copier.hidden = !navigator.clipboard; // a page without a certificate
  bar.append(finder, field, found, copier);

  async function copy() {
    await navigator.clipboard.writeText(pane().texts().join("\n"));
    copier.textContent = "Copied";
    setTimeout(() => (copier.textContent = "Copy"), 1500);
  }

  /** Goes to the next line with what is looked for, to the one before (-1), or stays in this one where it has it (0). */
  function seek(step) {
    const word = field.value.toLowerCase(),
      { current, go } = pane(),
      hits = word
        ? pane()
            .texts()
            .flatMap((text, k) => (text.toLowerCase().includes(word) ? [k + 1] : []))
        : [];
    const next = hits.findIndex((line) => (step > 0 ? line > current() : line >= current())),
      to = step < 0 ? hits.filter((line) => line < current()).length - 1 : Math.max(0, next);
    found.textContent = hits.length
      ? `${((to + hits.length) % hits.length) + 1} of ${hits.length}`
      : word && "not found";
    if (hits.length) go(hits.at(to));
  }

  function open(now) {
    field.hidden = !now;
    area.classList.toggle("pl-finding", now);
    found.textContent = "";
    if (now) field.select();
    else pane().body.focus();
  }

  /** @param {KeyboardEvent} e */
  function keys(e) {
    const held = e.ctrlKey || e.metaKey,
      typed = e.target === field && !held;
    const act =
      held && e.key === "f"
        ? () => open(true)
        : typed && { Enter: () => seek(e.shiftKey ? -1 : 1), Escape: () => open(false) }[e.key];
    if (act || typed) e.stopPropagation(); // letters and arrows are for the field
    if (!act) return;
    e.preventDefault();
    act();
  }
  for (const place of [...area.querySelectorAll(".pl-lines"), field]) place.addEventListener("keydown", keys);
}

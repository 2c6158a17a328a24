// @ts-check
// Keys that are pressed in a widget stay there. In command mode JupyterLab takes letters for commands, wherever in the
// notebook the focus is: `x` cuts the cell, `d d` deletes it. It passes over the keys of an element with this attribute.

const UNHEARD = "data-lm-suppress-shortcuts";
const OURS = "[class*='ptxlab-']"; // what a view of ours stands in, the controls beside it included
const WIDGETS = ".ptxlab-app, .ptxlab-explorer, .ptxlab-editor, .ptxlab-gallery";

/** Begins to listen, once per page, whichever script comes first. On `window`, which is asked before JupyterLab's `document`:
 * so elements that are drawn later need nothing of their own. */
function keepKeys() {
  if (window.ptxlabKeepsKeys) return;
  window.ptxlabKeepsKeys = true;
  window.addEventListener(
    "keydown",
    (/** @type {any} */ { target }) => {
      if (!target.closest?.(OURS)) return;
      target.setAttribute(UNHEARD, "true");
      target.addEventListener("keydown", tellApplication); // counts once, however often it is added
    },
    true,
  );
  for (const name of ["mousedown", "click"])
    window.addEventListener(
      name,
      (/** @type {any} */ { target }) => {
        const widget = target.closest?.(WIDGETS);
        if (!widget) return;
        widget.tabIndex = -1; // a click beside its elements takes the focus into the widget, not onto the cell
        widget.style.outline = "none";
        const kept = name === "click" && !widget.contains(document.activeElement); // as by a click on text that was selected
        if (kept) widget.focus({ preventScroll: true });
      },
      true,
    );
}

/** A key with Ctrl or Cmd that the widget did not use is told to what the notebook stands in: Ctrl+S saves, Ctrl+F searches.
 * The notebook does not hear of it: Ctrl+Backspace would merge its cells, Ctrl+Z undo what was typed into them. */
function tellApplication(event) {
  const mine =
    event.target !== event.currentTarget || event.defaultPrevented || event.altKey || !(event.ctrlKey || event.metaKey);
  if (mine) return;
  const application = event.target.closest(".jp-Notebook")?.parentElement ?? document.body;
  if (!application.dispatchEvent(new KeyboardEvent(event.type, event))) event.preventDefault();
}

keepKeys();

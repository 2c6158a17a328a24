// The packages that the plugin takes from JupyterLab, once `cells-entry.js` has fetched them.

export const SHARED = [
  "@codemirror/language",
  "@codemirror/state",
  "@codemirror/view",
  "@jupyterlab/codemirror",
  "@jupyterlab/notebook",
  "@lezer/highlight",
];
export const modules = {};

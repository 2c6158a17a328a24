// @ts-check
// What ipywidgets leaves unsaid of the controls beside the explorer: names for the handles of sliders, that a number
// which was typed has been changed to the nearest one allowed, and that another control had to follow a change.

import { h } from "./dom.js";

/** Gives each slider's handle the text of its label, now and whenever the parameters change. */
export function nameSliders(el) {
  const name = () => {
    const panel = el.closest(".jp-OutputArea, .output, body")?.querySelector(".ptxlab-parameters");
    for (const slider of panel ? panel.querySelectorAll(".widget-slider") : [])
      for (const handle of slider.querySelectorAll("[role=slider]:not([aria-label])"))
        handle.setAttribute("aria-label", slider.querySelector("label")?.textContent || "value");
    return panel;
  };
  const wait = setInterval(() => {
    const panel = name();
    if (!panel) return; // not on the page yet
    clearInterval(wait);
    new MutationObserver(name).observe(panel, { childList: true, subtree: true });
  }, 200);
  return () => clearInterval(wait);
}

/** Says under a control that it did not take what was typed into it as it was typed: what it takes, and what it has now. */
export function sayClamped(el) {
  let typed = null; // [the control, the text] between the last key and the change
  const field = (control) => control.querySelector("input[type=number]") || control.querySelector(".widget-readout");
  const text = (at) => (at.value ?? at.textContent).trim();
  const limits = (control) => {
    const input = control.querySelector("input[type=number]"),
      handle = control.querySelector("[role=slider]");
    const ends = input
      ? [input.min, input.max]
      : ["aria-valuemin", "aria-valuemax"].map((name) => handle.getAttribute(name));
    return ends.map((end) =>
      control.classList.contains("pl-powers") ? Number((10 ** end).toPrecision(9)) : Number(end),
    );
  };
  const note = (e) => {
    const at = e.target.closest?.(".ptxlab-parameters :is(input[type=number], .widget-readout)");
    if (at) typed = [at.closest(".jupyter-widgets:has(> label)"), text(at)];
  };
  const say = (e) => {
    if (!typed || (e.type === "keydown" && e.key !== "Enter")) return;
    const [control, given] = typed;
    typed = null;
    control?.parentElement.querySelectorAll(".pl-clamped").forEach((old) => old.remove());
    if (control && given) setTimeout(() => tell(control, given)); // once the control has what it makes of it
  };
  const tell = (control, given) => {
    const number = Number(given),
      now = text(field(control)),
      [low, high] = limits(control),
      name = control.querySelector("label").textContent;
    const beyond = number < low || number > high,
      digits = now.split(".")[1]?.length; // of a fraction some are not shown
    if (!beyond && Math.abs(now - number) <= (digits ? 0.5001 * 10 ** -digits : 0)) return;
    const takes = beyond ? "goes" : digits ? "is a number" : "is a whole number";
    const became = Number.isNaN(parseFloat(given)) ? `is none, ${now} stays` : `became ${now}`;
    control.after(
      h("p.pl-clamped", { role: "status" }, `${name} ${takes} from ${low} to ${high}: ${given} ${became}.`),
    );
  };
  const app = () => el.closest(".jp-OutputArea, .output, body");
  const wait = setInterval(() => {
    if (!el.isConnected || !app()) return;
    clearInterval(wait);
    app().addEventListener("input", note, true);
    app().addEventListener("keydown", say, true);
    app().addEventListener("focusout", say, true);
  }, 200);
  return () => {
    clearInterval(wait);
    for (const [name, heard] of [
      ["input", note],
      ["keydown", say],
      ["focusout", say],
    ])
      app()?.removeEventListener(name, heard, true);
  };
}

/** Says under each control that the kernel moved by itself why it did: `notes`, by the labels of the controls. */
export function sayFollowed(el, model) {
  const panel = () => el.closest(".ptxlab-app")?.querySelector(".ptxlab-parameters");
  const place = () => {
    const notes = { ...model.get("notes") };
    for (const old of panel()?.querySelectorAll(".pl-followed") || []) {
      const label = old.dataset.label,
        here = old.previousElementSibling?.querySelector("label")?.textContent === label;
      if (here && notes[label] === old.textContent) delete notes[label];
      else old.remove();
    }
    for (const label of panel()?.querySelectorAll(".jupyter-widgets > label") || []) {
      const text = notes[label.textContent];
      if (text)
        label.parentElement.after(h("p.pl-followed", { role: "status", "data-label": label.textContent }, text));
    }
  };
  const watch = new MutationObserver(place); // another kernel's controls come after the notes on them
  const wait = setInterval(() => {
    if (!panel()) return;
    clearInterval(wait);
    watch.observe(panel(), { childList: true, subtree: true });
    place();
  }, 200);
  model.on("change:notes", place);
  return () => {
    clearInterval(wait);
    watch.disconnect();
    model.off("change:notes", place);
  };
}

/** A button, which narrow windows alone show, that unfolds the controls: they would fill the first screen. While they are
 * folded away, what the kernel moved of them is said below the button. */
export function foldParameters(el, root, model) {
  const button = h("button.pl-button.pl-fold-button", { "aria-expanded": "false" }, "Parameters ▾");
  button.onclick = () => {
    const open = root.closest(".ptxlab-app")?.classList.toggle("pl-unfolded");
    button.setAttribute("aria-expanded", String(!!open));
    button.textContent = open ? "Parameters ▴" : "Parameters ▾";
  };
  const note = h("p.pl-followed.pl-fold-note"),
    say = () => {
      note.textContent = Object.values(model.get("notes") || {}).join("; ");
    };
  model.on("change:notes", say);
  say();
  root.prepend(button, note);
  return () => {
    model.off("change:notes", say);
    button.remove();
    note.remove();
  };
}

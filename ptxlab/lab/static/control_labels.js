// @ts-check
// What ipywidgets leaves unsaid of the controls beside the explorer: names for the handles of sliders, that a number
// which was typed has been changed to the nearest one allowed, and that another control had to follow a change.

import { h } from "./dom.js";

const DOCKED = ["kernel", "causal", "head dim", "Sq"]; // controls that stand in the dock of a narrow frame

/** Does something once there is what is looked for; the page sets the controls up beside the view, and later. Returns what
 * ends the waiting. */
function whenThere(find, act) {
  const wait = setInterval(() => {
    const found = find();
    if (!found) return;
    clearInterval(wait);
    act(found);
  }, 200);
  return () => clearInterval(wait);
}

const panelOf = (el) => el.closest(".ptxlab-app")?.querySelector(".ptxlab-parameters");

/** Gives each slider's handle the text of its label, now and whenever the parameters change. */
export function nameSliders(el) {
  const name = (panel) => {
    for (const handle of panel.querySelectorAll(".widget-slider [role=slider]:not([aria-label])"))
      handle.setAttribute(
        "aria-label",
        handle.closest(".widget-slider").querySelector("label")?.textContent || "value",
      );
  };
  return whenThere(
    () => panelOf(el),
    (panel) => {
      name(panel);
      new MutationObserver(() => name(panel)).observe(panel, { childList: true, subtree: true });
    },
  );
}

/** Says under a control that it did not take what was typed into it as it was typed: what it takes, and what it has now.
 * Takes the text of a function on Ctrl+Enter. */
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
    const own = e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.closest?.(".ptxlab-own textarea");
    if (own) {
      e.preventDefault();
      own.dispatchEvent(new Event("change", { bubbles: true })); // as when the text is left
    }
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
  const hears = [
    ["input", note],
    ["keydown", say],
    ["focusout", say],
  ];
  const app = () => el.closest(".ptxlab-app");
  const stop = whenThere(app, (found) => hears.forEach(([name, heard]) => found.addEventListener(name, heard, true)));
  return () => {
    stop();
    hears.forEach(([name, heard]) => app()?.removeEventListener(name, heard, true));
  };
}

/** Says under each control that the kernel moved by itself why it did: `notes`, by the labels of the controls. */
export function sayFollowed(el, model) {
  const panel = () => panelOf(el);
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
  const stop = whenThere(panel, (found) => {
    watch.observe(found, { childList: true, subtree: true });
    place();
  });
  model.on("change:notes", place);
  return () => {
    stop();
    watch.disconnect();
    model.off("change:notes", place);
  };
}

/** Marks the controls that were changed, [label, before, now], with what they said before. In narrow frames they stand in the
 * dock beside those that are used most; its button shows all of them over the code. */
export function makeDock(root) {
  const button = h("button.pl-button.pl-fold-button", { "aria-expanded": "false" }, "All ▾");
  const app = () => root.closest(".ptxlab-app"),
    panel = () => panelOf(root);
  let moved = [];
  /** What a control is called; a check box has a second label, after one that holds its place. */
  const nameOf = (control) =>
    [...control.querySelectorAll("label")].map((label) => label.textContent.replace("\u200b", "")).join("");
  const controls = () => [...(panel()?.children || [])].filter(nameOf);
  const fold = (open) => {
    app()?.classList.toggle("pl-unfolded", open);
    button.setAttribute("aria-expanded", String(open));
    button.textContent = `All ${controls().filter((one) => one.style.display !== "none").length} ${open ? "▴" : "▾"}`;
  };
  button.onclick = () => fold(button.getAttribute("aria-expanded") !== "true");
  const leave = (e) => {
    if (e.key === "Escape" && button.getAttribute("aria-expanded") === "true") button.click();
  };
  const place = () => {
    for (const control of controls()) {
      const label = nameOf(control),
        change = moved.find(([name]) => name === label);
      control.classList.toggle("pl-moved", !!change);
      control.classList.toggle("pl-docked", !!change || DOCKED.includes(label));
      if (change) control.dataset.was = change[1];
    }
  };
  const watch = new MutationObserver(() => {
    place();
    fold(button.getAttribute("aria-expanded") === "true");
  });
  const stop = whenThere(panel, (found) => {
    root.closest(".ptxlab-frame").append(button);
    app().addEventListener("keydown", leave);
    watch.observe(found, { childList: true });
    place();
    fold(false);
  });
  return {
    mark(changes) {
      moved = changes;
      place();
    },
    stop() {
      stop();
      watch.disconnect();
      button.remove();
    },
  };
}

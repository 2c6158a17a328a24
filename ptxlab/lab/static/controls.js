// @ts-check
// The controls: native inputs for the parameters in `controls`, which say what is in `values`. What somebody sets is sent
// with a number; the answers to it have that number or a greater one.

import { h } from "./dom.js";

const DOCKED = ["kernel", "causal", "head_dim", "seq_q", "grid", "block"]; // controls that stand in the dock of a narrow frame
const TOGETHER = ["batch", "heads", "kv_heads"]; // small numbers that share a line
const DIGITS = 2; // of a fraction, that are shown
const alike = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** `changed()` is called when something has been set here; `undo()` takes it back.
 * @param {Model} model */
export function makeControls(model, changed, undo) {
  const form = h("fieldset", { "aria-label": "parameters" }),
    button = h("button.pl-button.pl-fold-button", { "aria-expanded": "false" }),
    el = h("div.pl-controls", null, button, form),
    own = h("section.pl-own", { hidden: true });
  const rows = new Map(), // by what a control is, as text
    heads = new Map(); // by group
  const together = h("div.pl-together", null, h("span", { title: "batch, heads, KV heads" }, "B, H, KV"));
  let shown = [],
    moved = [], // [label, before, now]
    sent = 0,
    edits = {}; // what was set here and not heard of yet
  /** @returns {Values} */
  const values = () => model.get("values");
  const heard = () => sent <= model.get("status").seq;

  function send(given) {
    edits = { ...edits, ...given };
    sent = Math.max(model.get("status").seq, sent) + 1;
    model.send({ kind: "set", seq: sent, values: given });
    changed();
  }

  /** A value as the page says it.
   * @param {Control} c */
  function said({ kind, options }, value) {
    if (kind === "check") return value ? "on" : "off";
    if (kind === "choice") return (options.find(([, v]) => alike(v, value)) || [String(value)])[0];
    return kind === "powers" ? Number(value).toFixed(DIGITS) : String(value);
  }

  /** What an element does where somebody writes: `take` gets what was written, and what comes meanwhile waits. */
  function writes(field, take) {
    let typing = false;
    field.spellcheck = false;
    field.oninput = () => (typing = true);
    field.onchange = () => {
      typing = false;
      take(field.value);
    };
    return (text) => {
      if (!typing && field.value !== text) field.value = text;
    };
  }

  /** The inputs of a control, one of which has the id, and what shows a value in them.
   * @param {Control} c */
  function inputs(c, id) {
    const set = (value) => send({ [c.name]: value });
    let now; // the value that is shown
    if (c.kind === "check") {
      const box = h("input", { type: "checkbox", id, onchange: () => set(box.checked) });
      return { all: [box], show: (value) => (box.checked = value) };
    }
    if (c.kind === "choice") {
      const list = h("select.pl-field", { id }, ...c.options.map(([text]) => h("option", null, text)));
      list.onchange = () => set(c.options[list.selectedIndex][1]);
      return { all: [list], show: (value) => (list.selectedIndex = c.options.findIndex(([, v]) => alike(v, value))) };
    }
    if (c.kind === "text") {
      const text = h("textarea", { id }),
        write = writes(text, (value) => value !== now && set((now = value)));
      text.onkeydown = (e) => {
        if (e.key !== "Enter" || !(e.ctrlKey || e.metaKey)) return;
        e.preventDefault();
        text.onchange(e);
      };
      return { all: [text], show: (value) => write((now = value)) };
    }
    const power = c.kind === "powers",
      field = h("input.pl-field", { id, type: "text", inputMode: "decimal", autocomplete: "off" });
    const write = writes(field, (typed) => {
      const number = Number(typed.trim() || now);
      if (typed.trim() === said(c, now)) return;
      if (number === now) show(now);
      else set(Number.isNaN(number) ? typed : number); // what does not fit becomes the nearest that does, with a note
    });
    const go = (to) => {
      const within = Math.max(c.min, Math.min(c.max, Math.round(to)));
      if (within !== now) set(show(within));
    };
    field.onkeydown = (e) => {
      const by = { ArrowUp: c.step, ArrowDown: -c.step }[e.key];
      if (!by || power) return;
      e.preventDefault();
      go(now + by);
    };
    const from = (x) => (power ? Number((10 ** x).toPrecision(6)) : Number(x)),
      at = (value) => (power ? Math.log10(value) : value);
    const ends = { min: at(c.min), max: at(c.max), step: power ? 0.05 : c.step, "aria-label": c.label };
    const slider = h("input", { type: "range", ...ends, onchange: () => set(show(from(slider.value))) });
    slider.oninput = () => write(said(c, from(slider.value)));
    const times = (text, title, by) =>
      h("button.pl-button", { title, "aria-label": `${title} ${c.label}`, onclick: () => go(now * by) }, text);
    function show(value) {
      now = value;
      write(said(c, value));
      slider.value = at(value);
      slider.setAttribute("aria-valuetext", said(c, value));
      return value;
    }
    if (c.kind === "size") return { all: [field, times("½", "half", 0.5), times("×2", "double", 2)], show };
    return { all: c.kind === "number" ? [field] : [slider, field], show };
  }

  /** A row with a control. */
  function make(c) {
    const id = `pl-${Math.random().toString(36).slice(2)}`,
      { all, show } = inputs(c, id);
    const told = h("p.pl-told", { role: "status" }),
      was = h("button.pl-quiet.pl-was", { onclick: undo });
    const label = h("label", { htmlFor: id, title: c.says }, c.label);
    const row = h("div.pl-control", { "data-kind": c.kind }, label, h("span.pl-with", null, all, was), told);
    return { c, el: row, told, was, show };
  }

  /** Draws anew what is another control; an input that stays keeps the focus and what can be undone in it. */
  function draw(list) {
    const focus = /** @type {HTMLElement} */ (document.activeElement);
    shown = list.map((c) => {
      const key = JSON.stringify(c);
      if (!rows.has(key)) rows.set(key, make(c));
      return rows.get(key);
    });
    const parts = [];
    for (const { c, el } of shown) {
      if (c.kind === "text") {
        if (el.parentNode !== own) own.replaceChildren(h("b", null, "Your own "), c.says, el);
        continue;
      }
      if (!heads.has(c.group)) heads.set(c.group, h("h4", null, c.group));
      if (!parts.includes(heads.get(c.group))) parts.push(heads.get(c.group));
      if (TOGETHER.includes(c.name)) together.append(el);
      const part = TOGETHER.includes(c.name) ? together : el;
      if (!parts.includes(part)) parts.push(part);
    }
    const kept = [...form.children];
    if (kept.length === parts.length && kept.every((part, k) => part === parts[k])) return;
    form.replaceChildren(...parts);
    if (form.contains(focus)) focus.focus({ preventScroll: true });
  }

  let drawn = null;
  function paint() {
    const { seq, given, notes, unused } = values();
    if (seq < sent) return; // of a setting before the one that was sent last
    edits = {};
    if (drawn !== model.get("controls")) draw((drawn = model.get("controls")));
    for (const { c, el, told, show } of shown) {
      show(given[c.name]);
      el.hidden = unused.includes(c.name);
      told.textContent = notes[c.label] || "";
      el.classList.toggle("pl-followed", !!notes[c.label]);
    }
    for (const [group, head] of heads)
      head.hidden = shown.every(({ c, el }) => c.group !== group || c.kind === "text" || el.hidden);
    const text = shown.find(({ c }) => c.kind === "text");
    own.hidden = !text || text.el.hidden;
    mark();
  }

  /** Marks the controls that were changed, with what they said before; they come first in the dock. */
  function mark(changes = moved) {
    moved = changes;
    for (const { c, el, was } of shown) {
      const change = moved.find(([label]) => label === c.label);
      el.classList.toggle("pl-moved", !!change);
      el.classList.toggle("pl-docked", !!change || DOCKED.includes(c.name));
      was.textContent = !change ? "" : c.kind === "check" ? `was ${change[1]} ↶` : "↶";
      was.title = change ? `was ${change[1]}: back to that` : "";
    }
    fold(button.getAttribute("aria-expanded") === "true");
  }

  button.onclick = () => fold(button.getAttribute("aria-expanded") !== "true");
  function fold(open) {
    el.classList.toggle("pl-unfolded", open);
    button.setAttribute("aria-expanded", String(open));
    const followed = Object.keys(values().notes).length;
    const all = shown.filter((row) => !row.el.hidden && row.c.kind !== "text").length;
    button.textContent = `All ${all}${followed ? `, ${followed} adjusted` : ""} ${open ? "▴" : "▾"}`;
  }
  const leave = (e) => {
    if (e.key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
    fold(false);
    e.preventDefault();
    button.focus();
  };
  for (const part of [el, button]) part.addEventListener("keydown", leave);

  model.on("change:values", paint);
  paint();
  return {
    el,
    own,
    button,
    mark,
    send,
    heard,
    /** The focus goes to the control that was changed last. */
    back: () => form.querySelector(".pl-moved :is(input, select)")?.focus(),
    /** What a parameter says. */
    value: (name) => edits[name] ?? values().given[name],
    /** What was set here and not heard of yet: [label, before, now]. */
    changes() {
      const own = shown.filter(({ c }) => c.name in edits);
      return own.map(({ c }) => [c.label, said(c, values().given[c.name]), said(c, edits[c.name])]);
    },
    /** Whether anybody can be asked. */
    enable(on) {
      form.disabled = !on;
      for (const text of own.querySelectorAll("textarea")) text.readOnly = !on;
    },
    stop() {
      model.off("change:values", paint);
    },
  };
}

// @ts-check
// What the page is waiting for: one state machine, from the changed control to the answer. What is shown is what the
// controls say, or it is dimmed and the status line says why it is not.

import { h } from "./dom.js";

const PATIENCE = 400; // milliseconds until it is said that the kernel has not answered: most answers come sooner
const TICK = 100; // milliseconds between two updates of the seconds that a run takes

/** The state, of the kernel's last `status`, of whether the controls still say what that status answers ("matching"),
 * and of whether there is a kernel:
 *
 *   gone        no kernel: the cell must be run again
 *   changed     a control was changed and the kernel has not begun with it
 *   building, running, done, failed, cancelled    as the kernel says
 *   asking      the run would take long: it waits until somebody says that it shall begin
 */
function stateOf(status, matching, alive) {
  if (!alive) return "gone";
  return matching ? status.state : "changed";
}

const WORKING = ["changed", "building", "running"];

/** The status line and its button. `onstate(state, status, changes)` hears of the state; `shown()` tells whether all that stands on the page
 * answers the last request. */
export function makeStatus(model, onstate, shown) {
  const words = h("span", { role: "status", "aria-live": "polite" }),
    clock = h("span.pl-clock", { "aria-hidden": "true" });
  const act = h("button.pl-button.pl-act", null, "Cancel");
  const go = h("button.pl-button.pl-go", { hidden: true, onclick: () => model.send({ kind: "confirm" }) }, "Run");
  const el = h("span.pl-status", null, words, " ", clock, go, act);
  const controls = new Map(); // of each control's model id: the model, once it is known
  const manager = model.widget_manager;
  let state = "",
    since = performance.now(),
    timer = 0,
    cancelling = 0,
    alive = true;

  const asked = () => Object.entries(model.get("status").asked || {});
  const same = (a, b) => a === b || (typeof a === "number" && typeof b === "number" && Math.abs(a - b) < 1e-9);
  const others = () =>
    asked().filter(([id, [name, value]]) => controls.get(id) && !same(controls.get(id).get(name), value));
  const matching = () => !others().length;
  /** A control's value as the page says it. */
  const said = (control, name, value) =>
    typeof value === "boolean"
      ? value
        ? "on"
        : "off"
      : String(name === "index" ? control.get("_options_labels")[value] : value);
  /** What was changed and not heard of yet: [label, before, now]. */
  const changes = () =>
    others()
      .filter(([id]) => id !== model.model_id)
      .map(([id, [name, value]]) => {
        const control = controls.get(id);
        return [control.get("description"), said(control, name, value), said(control, name, control.get(name))];
      });

  /** Follows the controls that the kernel's requests are made of. */
  function follow() {
    for (const [id] of asked()) {
      if (controls.has(id) || !manager?.get_model) continue;
      controls.set(id, null);
      Promise.resolve(manager.get_model(id)).then(
        (control) => {
          controls.set(id, control);
          control.on("change", later);
          control.on("comm_live_update", lost);
          update();
        },
        () => {},
      ); // a front end that does not give its models away: the kernel's own words are all there is
    }
  }
  function lost() {
    const known = [...controls.values()].find((control) => control && "comm_live" in control);
    alive = known ? known.comm_live : false;
    update();
  }

  /** The text for a state; nothing in the first moments, in which most answers come. */
  function says(status) {
    const rest = shown() ? "" : "; what is dimmed is of an earlier setting";
    if (state === "gone") return "the kernel is gone: run the cell again";
    if (state === "changed") {
      if (performance.now() - since < PATIENCE) return words.textContent;
      return manager?.kernel?.status === "busy"
        ? "waiting for the kernel: another cell is running"
        : "waiting for the kernel";
    }
    if (cancelling === status.seq && WORKING.includes(state)) return "cancelling";
    if (state === "cancelled" || state === "failed" || state === "asking") return status.text + rest;
    return status.text;
  }

  let due = false;
  function later() {
    if (!due)
      queueMicrotask(() => {
        due = false;
        update();
      }); // when all that has changed together has been heard of
    due = true;
  }

  function update() {
    const status = model.get("status"),
      next = stateOf(status, matching(), alive);
    if (next !== state) {
      if (!WORKING.includes(next) || !WORKING.includes(state)) since = performance.now();
      state = next;
      clearInterval(timer);
      timer = WORKING.includes(state) ? setInterval(update, TICK) : 0;
    }
    const text = says(status),
      passed = performance.now() - since;
    if (words.textContent !== text) words.textContent = text;
    const working = WORKING.includes(state);
    clock.textContent = working && passed > 1000 ? `· ${(passed / 1000).toFixed(1)} s` : "";
    const button = state === "cancelled" ? "Run again" : "Cancel";
    if (act.textContent !== button) act.textContent = button;
    act.classList.toggle("pl-hidden", !(state === "cancelled" || state === "asking" || (working && passed > PATIENCE)));
    go.hidden = state !== "asking";
    onstate(state, status, changes());
  }

  act.onclick = () => {
    if (state === "cancelled") return model.send({ kind: "again" });
    cancelling = model.get("status").seq;
    model.send({ kind: "cancel" });
    update();
  };
  const changed = () => {
    follow();
    update();
  };
  model.on("change:status", changed);
  model.on("comm_live_update", lost);
  changed();
  return {
    el,
    update,
    stop() {
      clearInterval(timer);
      model.off("change:status", changed);
      model.off("comm_live_update", lost);
      for (const control of controls.values()) control?.off("change", later);
      for (const control of controls.values()) control?.off("comm_live_update", lost);
    },
  };
}

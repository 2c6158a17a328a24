// @ts-check
// What the page is waiting for: one state machine, from the changed control to the answer. What is shown is what the
// controls say, or it is dimmed and the status line says why it is not.

import { h } from "./dom.js";

const PATIENCE = 400; // milliseconds until it is said that the kernel has not answered: most answers come sooner
const TICK = 100; // milliseconds between two updates of the seconds that a run takes

/** The state, of the kernel's last `status`, of whether the kernel has heard of all that was set here, and of whether there
 * is a kernel:
 *
 *   gone        no kernel: the cell must be run again
 *   changed     a control was changed and the kernel has not begun with it
 *   building, running, done, failed, cancelled    as the kernel says
 *   asking      the run would take long: it waits until somebody says that it shall begin
 */
function stateOf(status, heard, alive) {
  if (!alive) return "gone";
  return heard ? status.state : "changed";
}

const WORKING = ["changed", "building", "running"];

/** The status line and its button. `heard()` tells whether the kernel has heard of all that was set, `onstate(state, status)`
 * hears of the state; `shown()` tells whether all that stands on the page answers the last request. */
export function makeStatus(model, heard, onstate, shown) {
  const words = h("span", { role: "status", "aria-live": "polite" }),
    clock = h("span.pl-clock", { "aria-hidden": "true" });
  const act = h("button.pl-button.pl-act", null, "Cancel");
  const go = h("button.pl-button.pl-go", { hidden: true, onclick: () => model.send({ kind: "confirm" }) }, "Run");
  const el = h("span.pl-status", null, words, " ", clock, go, act);
  const manager = model.widget_manager,
    twin = model.get("layout"); // a model of ipywidgets, which knows whether its kernel is there
  let state = "",
    since = performance.now(),
    timer = 0,
    cancelling = 0;

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

  function update() {
    const status = model.get("status"),
      next = stateOf(status, heard(), twin?.comm_live !== false);
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
    onstate(state, status);
  }

  act.onclick = () => {
    if (state === "cancelled") return model.send({ kind: "again" });
    cancelling = model.get("status").seq;
    model.send({ kind: "cancel" });
    update();
  };
  model.on("change:status", update);
  twin?.on?.("comm_live_update", update);
  update();
  return {
    el,
    update,
    stop() {
      clearInterval(timer);
      model.off("change:status", update);
      twin?.off?.("comm_live_update", update);
    },
  };
}

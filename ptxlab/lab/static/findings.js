// @ts-check
// What the checks have found, or the fault that stopped the kernel: one entry for each pair of source lines. Of the entry that
// is open the accesses are numbered, and the numbers stand at their lines, at the edge of the pane and at their lanes.

import { h } from "./dom.js";

export const ACCESS = ["❶", "②"]; // the thread that noticed, and the other one

const LOOKS_FOR =
  "memcheck alone was asked: checks all looks for races, barriers and reads of what is not written, too";

/** Where a thread's access stands, the user's own line first. */
const placeOf = (party) => `${party.from ? `${party.from}, PTX ` : ""}line ${party.line}`;

/** `go(party)` shows an access, `opened()` hears that another entry is open, `sourceOf(line)` gives the line of source that
 * wrote a PTX line, as escaped HTML; `debug(k, n)`, where there is one, makes a button that opens the debugger at access
 * `n` of finding `k`. */
export function makeFindings(go, opened, sourceOf, debug = null) {
  const el = h("div.pl-findings", { role: "region", "aria-label": "findings" });
  let all = [],
    current = 0,
    stopped = false,
    checks = [];

  /** One access: its number and place, which lead to it, and what the thread did. */
  function access(party, n) {
    const source = h("code", { innerHTML: sourceOf(party.line) }); // highlighted, and escaped, by Python
    return h(
      "li",
      null,
      h("button.pl-button", { onclick: () => go(party) }, h("b", null, ACCESS[n]), ` ${placeOf(party)}`),
      h("span", null, `block ${party.block}, warp ${party.warp}, lane ${party.lane} ${party.did}`),
      source,
      h("code.pl-note", null, party.source),
      debug && debug(current, n),
    );
  }

  /** A finding; of the open one all that is known. Without accesses, the debugger finds out where it comes from. */
  function entry(finding, k) {
    const here = k === current,
      of = all.length > 1 ? ` ${k + 1} of ${all.length}` : "";
    const what = h("b", null, `✗ ${stopped && !k ? "stopped by " : ""}${finding.check}`),
      where = here || !finding.parties.length ? "" : ` · ${finding.parties.map(placeOf).join(" and ")}`,
      act = { "aria-expanded": String(here), onclick: () => pick(k) };
    const more = here && [
      h("p", null, finding.message, finding.more && ` · ${finding.more}`),
      h("ol", null, finding.parties.map(access)),
      debug && !finding.parties.length ? debug(k, -1) : null,
    ];
    const head = h("button.pl-quiet", act, what, of, where);
    return h("section", { "aria-current": here ? "true" : null }, head, more || []);
  }

  function pick(k) {
    current = k;
    const found = all.map(entry);
    const says = checks.length ? `${checks.join(", ")}${checks.join() === "memcheck" ? `; ${LOOKS_FOR}` : ""}` : "";
    const focused = el.contains(document.activeElement);
    el.classList.toggle("pl-none", !all.length);
    el.replaceChildren(...(all.length ? found : [h("p", null, h("b", null, "✓ no findings"), ` ${says}`)]));
    if (focused) /** @type {HTMLElement} */ (el.querySelector("[aria-current] button"))?.focus({ preventScroll: true });
    opened();
  }

  return {
    el,
    pick,
    /** Opens the next entry, or the one before (-1), and goes to its first access. */
    step(by) {
      if (!all.length) return;
      pick((current + by + all.length) % all.length);
      if (all[current].parties.length) go(all[current].parties[0]);
    },
    /** The entry that is open; undefined where there is none. */
    now: () => all[current],
    /** `names` are the checks that looked, where they are known; `fault`: whether the first finding stopped the kernel. */
    show(findings, names, fault = false) {
      if (findings === all) return;
      [all, checks, stopped] = [findings, names, fault];
      pick(0);
    },
  };
}

/** PTX lines -> the signs of the accesses of a finding at them; `rows` says how a line is called elsewhere. */
export function signsOf(finding, rows = (line) => [line]) {
  const signs = new Map();
  for (const [n, party] of (finding?.parties || []).entries())
    for (const line of rows(party.line)) signs.set(line, (signs.get(line) || "") + ACCESS[n]);
  return signs;
}

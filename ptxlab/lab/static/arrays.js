// @ts-check
// Which elements of the kernel's arrays a warp reads and writes, drawn on the arrays as far as it reaches, and those of a step.

import { card, h, s, tableOf } from "./dom.js";
import { rect } from "./drawing.js";
import { lanesOf, reached } from "./access.js";

const ARRAY_WIDE = 512,
  LOOKED_AT = 1 << 20; // pixels of the furthest element; elements that are looked at
const KINDS_OF_ACCESS = ["load", "store"];
const ARRAY_ADDRESS = /^\s*(?:@\S+\s+)?ld\.param\.[bus]64\s+(%[\w$]+),\s*\[([\w$]+)\]/; // the address of an array

/** Numbers in ascending order as [first, last] of those that follow each other. */
function runsOf(numbers) {
  const runs = [];
  for (const n of [...numbers].sort((a, b) => a - b))
    if (runs.length && n - runs.at(-1)[1] <= 1) runs.at(-1)[1] = n;
    else runs.push([n, n]);
  return runs;
}

const elementsOf = (runs) =>
  runs
    .slice(0, 4)
    .map(([a, b]) => (a === b ? a : `${a}–${b}`))
    .join(", ") + (runs.length > 4 ? ` and ${runs.length - 4} more runs` : "");

/** `lines` is the PTX, `names` are the registers. */
export function makeArraysCard(windows, lines, names) {
  const picture = h("div.pl-picture"),
    { el, note, read, table } = card("Arrays", picture);
  let warp = null,
    bases = [], // [name, address], by address
    rows = []; // [name, [runs that are read, runs that are written], how many elements there are at least]

  /** [name, element, "load" or "store", lane] of each element that a step touches. */
  function* touched(step) {
    const bytes = Number(/\.(?:b?f|[bus])(\d+)(?!.*\.(?:b?f|[bus])\d)/.exec(step.opcode)?.[1] || 8) / 8;
    for (const access of reached(step, windows))
      for (const lane of access.space === "global" ? lanesOf(access.mask) : []) {
        const [name, at] = bases.findLast(([, base]) => base <= access.addresses[lane]) || [];
        if (name === undefined) continue;
        const first = Number(access.addresses[lane] - at) / bytes;
        for (let n = 0; n < access.size / bytes; n++)
          for (const kind of access.kind === "atomic" ? KINDS_OF_ACCESS : [access.kind])
            yield [name, Math.floor(first) + n, kind, lane];
      }
  }

  return {
    el,
    open(next) {
      const known = new Map();
      warp = next;
      warp.steps.forEach(({ line, mask }, k) => {
        const [, register, name] = ARRAY_ADDRESS.exec(lines[line - 1] || "") || [],
          values = names.includes(register) ? warp.value(names.indexOf(register), k) : [];
        if (name && typeof values[0] === "bigint") known.set(name, values[lanesOf(mask)[0] ?? 0]);
      });
      bases = [...known].sort((a, b) => (a[1] < b[1] ? -1 : 1));
      const all = new Map(bases.map(([name]) => [name, KINDS_OF_ACCESS.map(() => new Set())]));
      let looked = 0;
      for (const step of warp.steps)
        for (const [name, element, kind] of looked < LOOKED_AT ? touched(step) : []) {
          all.get(name)[KINDS_OF_ACCESS.indexOf(kind)].add(element);
          looked++;
        }
      rows = [...all]
        .map(([name, sets]) => [name, sets.map(runsOf)])
        .filter(([, runs]) => runs.some((of) => of.length))
        .map(([name, runs]) => [name, runs, 1 + Math.max(...runs.map((of) => of.at(-1)?.[1] ?? 0))]);
      note.textContent = `elements that this warp reads (above) and writes (below)${looked < LOOKED_AT ? "" : ", of its first steps"}`;
      el.hidden = !rows.length;
    },
    show(at) {
      if (el.hidden) return;
      const now = [...touched(warp.steps[at])];
      picture.replaceChildren(
        ...rows.flatMap(([name, runs, end]) => {
          const here = KINDS_OF_ACCESS.map((kind) =>
              runsOf(now.filter((t) => t[0] === name && t[2] === kind).map((t) => t[1])),
            ),
            words = ["reads", "writes"].flatMap((word, k) => {
              const step = here[k].length ? `, in this step ${elementsOf(here[k])}` : "";
              return runs[k].length ? `${word} ${elementsOf(runs[k])}${step}` : [];
            });
          const bar = (css, k, [a, b]) =>
            rect((ARRAY_WIDE * a) / end, 1 + 8 * k, Math.max(1, (ARRAY_WIDE * (b + 1 - a)) / end), 6, css);
          const svg = s("svg", { viewBox: `0 -2 ${ARRAY_WIDE} 19`, "aria-hidden": "true", class: "pl-elements" });
          svg.append(
            rect(0, -1, ARRAY_WIDE, 17, "pl-frame"),
            ...[0, 1].flatMap((k) => [
              ...runs[k].map((run) => bar("pl-touched", k, run)),
              ...here[k].map((run) => bar("pl-chosen", k, run)),
            ]),
          );
          return [h("p.pl-says", null, h("code", null, name), ` ${words.join("; ")}`), svg];
        }),
      );
      table.replaceChildren(
        tableOf(
          ["lane", "element", ""],
          now.map(([name, element, kind, lane]) => [lane, `${name}[${element}]`, kind === "load" ? "reads" : "writes"]),
        ),
      );
      read.textContent = "";
    },
  };
}

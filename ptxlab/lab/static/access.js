// @ts-check
// The access to memory of one step, drawn and as a table: global memory in 32-byte sectors, shared memory by bank.

import { card, h, hex, plural, tableOf, s } from "./dom.js";
import { drawing, label, rect } from "./drawing.js";

export const lanesOf = (mask) => Array.from({ length: 32 }, (_, lane) => lane).filter((lane) => (mask >>> lane) & 1);

/** {sectors: Map of sector number -> [[first byte, bytes, lane]], ideal} of an access to global memory. */
export function sectorsOf(access) {
  const sectors = new Map(),
    lanes = lanesOf(access.mask);
  for (const lane of lanes)
    for (let byte = 0; byte < access.size;) {
      const at = access.addresses[lane] + BigInt(byte),
        sector = at >> 5n,
        inside = Number(at & 31n);
      const bytes = Math.min(access.size - byte, 32 - inside);
      if (!sectors.has(sector)) sectors.set(sector, []);
      sectors.get(sector).push([inside, bytes, lane]);
      byte += bytes;
    }
  return {
    sectors: new Map([...sectors].sort((a, b) => (a[0] < b[0] ? -1 : 1))),
    ideal: Math.min(sectors.size, Math.ceil((lanes.length * access.size) / 32)),
  };
}

/** {wavefronts, ideal, banks} of an access to shared memory; `banks` holds for each of 32 the words wanted of it at once.
 * Wide accesses are served in groups of lanes, larger ones where pairs of lanes of a load agree. */
export function banksOf(access, loads) {
  const shift = Math.max(2, Math.round(Math.log2(access.size))),
    wide = 1 << (shift - 2);
  const places = new Map(lanesOf(access.mask).map((lane) => [lane, Number(access.addresses[lane]) >> shift]));
  const slots = 128 >> shift;
  const agree = (d) => [...places].every(([lane, place]) => (places.get(lane ^ d) ?? place) === place);
  const size = loads && access.size > 4 && (agree(1) || agree(2)) ? 2 * slots : slots;
  const groups = new Map(),
    banks = Array.from({ length: 32 }, () => 0);
  const empty = () => Array.from({ length: slots }, () => new Set());
  for (const [lane, place] of places) {
    const group = Math.floor(lane / size);
    if (!groups.has(group)) groups.set(group, empty());
    groups.get(group)[place % slots].add(place);
  }
  let wavefronts = 0;
  for (const group of groups.values()) {
    wavefronts += Math.max(...group.map((words) => words.size));
    group.forEach((words, slot) => {
      for (let b = 0; b < wide; b++) banks[slot * wide + b] = Math.max(banks[slot * wide + b], words.size);
    });
  }
  return { wavefronts, ideal: groups.size, banks };
}

const SECTORS_DRAWN = 64;

function drawSectors(sectors) {
  const drawn = [...sectors].slice(0, SECTORS_DRAWN).map(([sector, touched]) => {
    const svg = drawing(129, 26, { viewBox: "0 0 129 26" });
    svg.append(label(0, 9, hex(sector << 5n)), rect(0.5, 12, 128, 13, "pl-frame"));
    for (const [first, bytes, lane] of touched) {
      const box = rect(4 * first + 1, 12.5, 4 * bytes - 1, 12, "pl-touched");
      box.append(s("title", {}, `lane ${lane}`));
      svg.append(box);
    }
    return svg;
  });
  return h("div.pl-sectors", { "aria-hidden": "true" }, drawn);
}

function drawBanks(banks) {
  const top = Math.max(1, ...banks),
    unit = Math.min(12, 96 / top),
    height = top * unit;
  const svg = drawing(528, height + 14, { viewBox: `0 0 528 ${height + 14}` });
  banks.forEach((words, bank) => {
    const x = bank * 16.5;
    svg.append(rect(x, 0, 15, height, "pl-frame"));
    for (let n = 0; n < words; n++) {
      const tall = Math.max(0.5, unit - 1);
      svg.append(rect(x + 0.5, height - (n + 1) * unit + 0.5, 14, tall, n ? "pl-touched pl-again" : "pl-touched"));
    }
    if (bank % 4 === 0 || bank === 31) svg.append(label(x + 7, height + 11, bank, "pl-tick", "middle"));
  });
  return svg;
}

/** Why the lanes of an access meet in the same banks: how far apart the addresses of the first ones lie. */
function reasonOf(access) {
  const at = lanesOf(access.mask)
      .slice(0, 8)
      .map((lane) => Number(access.addresses[lane])),
    apart = at[1] - at[0];
  if (at.length < 3 || apart < 1 || at.some((address, k) => k && address - at[k - 1] !== apart))
    return "Lanes want different words of one bank, which serves one of them per wavefront.";
  let banks = 1; // that the lanes begin in: addresses 128 bytes apart are one bank
  while (banks < 32 && (banks * apart) % 128) banks *= 2;
  return `The lanes' addresses lie ${apart} bytes apart, and all 32 banks together are 128 bytes wide: the lanes begin in ${banks === 1 ? "the same bank" : `only ${banks} banks`}. Padding the rows, or a swizzle, spreads them over the banks.`;
}

/** {says, degree, why, picture, table} of one access of an instruction; the last of `degree` lanes waits for its bank,
 * and `why` says why, where they are several; `loads`: of one that loads a value for each lane. */
function showAccess(access, loads) {
  const lanes = lanesOf(access.mask),
    memory = access.space === "cluster" ? "shared memory of the cluster" : `${access.space} memory`,
    what = `${access.kind}, ${memory}: ${plural(lanes.length, "lane")} × ${access.size} bytes`,
    rows = (place) => lanes.map((lane) => [lane, hex(access.addresses[lane]), place(access.addresses[lane])]),
    table = (head, place) => tableOf(["lane", "address", head], rows(place));
  if (access.space === "shared") {
    const { wavefronts, ideal, banks } = banksOf(access, loads);
    const degree = Math.max(...banks),
      conflict = degree > 1 ? `⚠ ${degree}-way bank conflict` : "no bank conflict",
      says = `${what}, ${conflict}, ${plural(wavefronts, "wavefront")} (at best ${ideal})`,
      why = degree > 1 ? reasonOf(access) : "";
    return { says, degree, why, picture: drawBanks(banks), table: table("bank", (a) => Number((a >> 2n) & 31n)) };
  }
  if (access.space === "global") {
    const { sectors, ideal } = sectorsOf(access);
    const more = sectors.size > SECTORS_DRAWN ? `; the first ${SECTORS_DRAWN} are drawn` : "";
    const says = `${what} in ${plural(sectors.size, "sector")} of 32 bytes (at best ${ideal})${more}`;
    return { says, picture: drawSectors(sectors), table: table("sector", (a) => hex((a >> 5n) << 5n)) };
  }
  return { says: what, picture: null, table: table("byte", (a) => Number(a & 31n)) };
}

/** An access through generic addresses as one for each memory that its lanes reach. */
export function resolved(access, windows) {
  if (access.space !== "generic") return [access];
  const found = new Map(),
    size = BigInt(windows.size);
  for (const lane of lanesOf(access.mask)) {
    const space =
      ["shared", "local", "param"].find(
        (name) =>
          access.addresses[lane] >= BigInt(windows[name]) && access.addresses[lane] < BigInt(windows[name]) + size,
      ) || "global";
    found.set(space, ((found.get(space) || 0) | (1 << lane)) >>> 0);
  }
  return [...found].map(([space, mask]) => {
    const base = space === "global" ? 0n : BigInt(windows[space]);
    return { ...access, space, mask, addresses: access.addresses.map((a) => (base && a >= base ? a - base : a)) };
  });
}

/** The accesses of a step that some lane makes, each to one memory. */
export const reached = (step, windows) => step.accesses.filter((a) => a.mask).flatMap((a) => resolved(a, windows));

/** The card with the accesses of the step that is shown. `windows`: where generic addresses of other spaces begin. */
export function makeAccessCard(windows) {
  const picture = h("div.pl-picture.pl-access"),
    { el, read, table } = card("Memory access of this step", picture);
  read.removeAttribute("aria-live"); // the status line speaks for the whole step
  let degree = 1;
  return {
    el,
    /** `more`: what else is said of the step, in sentences. */
    show(step, more = []) {
      const shown = reached(step, windows).map((a) => showAccess(a, step.action === "LOAD"));
      if (!shown.length && !more.length && el.dataset.accesses === "0") return;
      const tells = (words) => h("p.pl-says", null, words),
        none = shown.length || more.length ? [] : ["This step does not touch memory."],
        pictures = shown.flatMap((a) => [tells(a.says), a.picture || "", a.why ? tells(a.why) : ""]);
      picture.replaceChildren(...[...more, ...none].map(tells), ...pictures);
      table.replaceChildren(...shown.flatMap((a) => [tells(a.says), a.table]));
      read.textContent = "";
      el.dataset.accesses = shown.length + more.length;
      degree = Math.max(1, ...shown.map((a) => a.degree || 1));
    },
    /** How many lanes want one bank, of the access that is shown: 1 where none waits. */
    degree: () => degree,
  };
}

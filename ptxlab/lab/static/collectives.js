// @ts-check
// Collective operations of a warp in one step: votes, matches, reductions and elections, drawn like a circuit.

import { plural, tableOf, s, short } from "./dom.js";
import { dot, drawing, label, path, rect } from "./drawing.js";
import { laneText } from "./trace.js";
import { lanesOf } from "./access.js";
import { valuesFound } from "./lane_exchange.js";

const LANE = { w: 38, level: 15, line: 12 };
const ASKED = { any: "at least one lane says yes", all: "every lane says yes", uni: "all lanes say the same" };
const MADE = {
  add: "the sum",
  min: "the smallest",
  max: "the largest",
  and: "the bitwise and",
  or: "the bitwise or",
  xor: "the bitwise xor",
};
const wholeMask = (mask) => "0x" + (mask >>> 0).toString(16).padStart(8, "0");

/** A value short enough for a lane's box: digits in fours below each other, numbers with few digits. */
export function boxLines(text) {
  if (text.startsWith("0x") && text.length > 6) {
    const fours = text.slice(2).match(/.{1,4}/g);
    return ["0x" + fours[0], ...fours.slice(1)];
  }
  return [Number.isNaN(Number(text)) || text.length <= 6 ? text.slice(0, 6) : short(Number(text), 3)];
}

/** Who gives what to whom at a step: `given` and each of `got` are texts of 32 lanes (null where there is no value), `said`
 * and `marked` the lanes whose contribution or outcome stands out, `groups` the lanes that come to one outcome. null where
 * the trace does not hold the mask. */
export function collective(code, warp, at, active, registers) {
  const written = [code.d, code.p],
    named = valuesFound(warp, code.mask, at, written),
    here = lanesOf(active);
  if (code.mask !== null && !named) return null;
  const wide = code.type.endsWith("64") ? 64 : 32,
    values = valuesFound(warp, code.a, at, written, wide),
    asks = code.action === "VOTE",
    reduces = code.action === "REDUCE_LANES",
    matches = code.action === "MATCH" && code.mode === "any" && values;
  const declared = typeof code.a === "number" ? registers[code.a] : ["", code.type, wide === 64 ? "i64" : "i32"];
  const type = reduces ? ["", code.type, code.type === "f32" ? "f32" : "i32"] : declared;
  const yes = (lane) => Boolean(values[lane]) !== code.not,
    text = (held, lane) => laneText(held, lane, code.type === "b32" && reduces ? "hex" : "typed", type[1], type[2]);
  const give = (lane) => (!asks ? text(values, lane) : yes(lane) ? "yes" : "no"),
    given = values && Array.from({ length: 32 }, (_, lane) => give(lane));
  const masks = code.mode === "ballot" || code.action === "ACTIVE_MASK" || code.action === "MATCH";
  const d = typeof code.d === "number" ? warp.value(code.d, at) : null,
    p = typeof code.p === "number" ? warp.value(code.p, at) : null;
  const outcome = (lane) => {
    if (masks) return wholeMask(Number(d[lane]));
    if (code.action === "ELECT") return `lane ${d[lane]}`;
    return asks ? String(Boolean(d[lane])) : text(d, lane);
  };
  const got = [];
  if (d) got.push([code.d, Array.from({ length: 32 }, (_, lane) => outcome(lane))]);
  if (p) got.push([code.p, Array.from(p, (x) => String(Boolean(x)))]);
  const groups = new Map(),
    members = (lane) => (named ? (Number(named[lane]) & active) >>> 0 : active);
  for (const lane of here) {
    const mask = members(lane),
      key = `${mask} ${matches ? values[lane] : ""}`,
      lanes = lanesOf(mask).filter((k) => !matches || values[k] === values[lane]);
    if (!groups.has(key)) groups.set(key, { mask, lanes, takers: [] });
    groups.get(key).takers.push(lane);
  }
  const extreme = reduces && d && (code.operation === "min" || code.operation === "max");
  const held = (lane) => (code.abs ? values[lane] & 0x7fffffff : values[lane]);
  const said = (lane) => (asks && values ? yes(lane) : extreme && values ? held(lane) === d[lane] : false);
  const marked = (lane) => (p ? Boolean(p[lane]) : asks && d && !masks ? Boolean(d[lane]) : false);
  const asked = named ? here.reduce((all, lane) => (all | Number(named[lane])) >>> 0, 0) : active;
  return {
    here,
    given,
    got,
    groups: [...groups.values()],
    said,
    marked,
    members,
    masks: masks && d ? d : null,
    absent: lanesOf(asked & ~active),
    outside: here.filter((k) => !((members(k) >>> k) & 1)),
  };
}

/** Each group's level, such that bars of one level do not touch. */
function levelsOf(groups) {
  const ends = [];
  return groups.map(({ lanes, takers }) => {
    const first = Math.min(...lanes, ...takers),
      last = Math.max(...lanes, ...takers);
    let level = ends.findIndex((end) => end < first);
    if (level < 0) level = ends.length;
    ends[level] = last;
    return { level, first, last };
  });
}

/** A lane's box: its number, and what it gives or gets, in lines that are so many pixels apart. */
export function laneBox(lane, x, y, wide, tall, rows, css, apart = LANE.line) {
  const middle = x + wide / 2,
    texts = rows.map((words, n) => label(middle, y + 12 + apart * (n + 1), words, "", "middle"));
  const number = label(middle, y + 12, lane, "pl-number", "middle");
  return s("g", { class: `pl-lane${css}` }, rect(x, y, wide, tall, ""), number, ...texts);
}

/** Lanes above, what they come to below, a bar with a dot for each lane that has a say; and the bits of one lane's mask. */
export function drawCollective(found, chip, lane, dashed, onlane, bitsOf) {
  const { w, level: gap, line } = LANE,
    levels = levelsOf(found.groups),
    depth = Math.max(1, ...levels.map((l) => l.level + 1));
  const above = Array.from({ length: 32 }, (_, k) => (found.given ? boxLines(found.given[k]) : []));
  const below = Array.from({ length: 32 }, (_, k) => found.got.flatMap(([, texts]) => boxLines(texts[k])));
  const size = (rows) => 17 + line * Math.max(...rows.map((r) => r.length));
  const top = 14,
    up = top + size(above),
    down = up + 16 + depth * gap + 10,
    base = down + size(below),
    bits = found.masks ? base + 32 : 0;
  const height = bits ? bits + 20 : base + 14,
    middle = (k) => k * w + w / 2 - 0.5,
    outside = new Set(found.outside);
  const active = new Set(found.here),
    chosen = active.has(lane) ? lane : found.here[0];
  const svg = drawing(
    32 * w + 2,
    height,
    { viewBox: `0 0 ${32 * w + 2} ${height}`, class: "pl-shuffle pl-collective" },
    label(1, 9, found.given ? "before: what each lane gives" : "before: the active lanes"),
    label(1, base + 11, "after: what each lane has got"),
  );
  const box = (k, y, rows, on, loud) => {
    const css = `${!on ? " pl-inactive" : loud ? " pl-said" : ""}${k === lane ? " pl-asked" : ""}`,
      g = laneBox(k, k * w + 1, y, w - 3, size(rows), active.has(k) ? rows[k] : [], css);
    g.addEventListener("click", () => onlane(k));
    svg.append(g);
  };
  for (let k = 0; k < 32; k++) {
    box(k, top, above, active.has(k) && !outside.has(k), found.said(k));
    box(k, down, below, active.has(k), found.marked(k));
  }
  found.groups.forEach(({ lanes, takers }, n) => {
    const y = up + 16 + levels[n].level * gap,
      ours = takers.includes(chosen) ? " pl-ours" : "",
      { first, last } = levels[n];
    const lines = s("g", { class: `pl-net${ours}` });
    for (const k of lanes) {
      const says = found.said(k) ? " pl-loud" : dashed ? " pl-not" : "";
      lines.append(path(`M${middle(k)} ${up}V${y}`, `pl-wire${says}`));
      lines.append(dot(middle(k), y, 2.6, dashed && !found.said(k) ? "pl-dot pl-not" : "pl-dot"));
    }
    for (const k of takers) {
      const head = `M${middle(k) - 3} ${down - 6}L${middle(k)} ${down - 1}L${middle(k) + 3} ${down - 6}`;
      lines.append(path(`M${middle(k)} ${y}V${down - 1}${head}`, "pl-wire"));
    }
    if (last > first) {
      const at = (Math.floor((first + last) / 2) + 1) * w - 0.5;
      lines.append(
        path(`M${middle(first)} ${y}H${middle(last)}`, "pl-wire pl-rail"),
        rect(at - 15, y - 6.5, 30, 13, "pl-chip", { rx: 4 }),
        label(at, y + 3.2, chip, "pl-chip-text", "middle"),
      );
    }
    svg.append(lines);
  });
  if (bits) {
    const mask = Number(found.masks[chosen]) >>> 0;
    svg.append(label(1, bits - 5, `the bits of lane ${chosen}'s ${bitsOf}, each under the lane that it stands for`));
    for (let k = 0; k < 32; k++) {
      const on = (mask >>> k) & 1,
        number = label(middle(k), bits + 12, on, "", "middle");
      svg.append(s("g", { class: on ? "pl-bit pl-said" : "pl-bit" }, rect(k * w + 1, bits, w - 3, 16, ""), number));
    }
  }
  return svg;
}

/** What happened, in a sentence or two, from lane `lane` or the first active one. */
export function tellCollective(code, found, names, lane) {
  if (!found.here.length) return "No lane executes this step: its guard is false in all of them.";
  const who = found.here.includes(lane) ? lane : found.here[0],
    group = found.groups.find((g) => g.takers.includes(who));
  const what = typeof code.a === "number" ? names[code.a] : "constant",
    name = (code.not ? "!" : "") + (what === "constant" ? "a constant" : what),
    into = (k) => (typeof k === "number" ? names[k] : "nothing");
  const several = new Set(found.groups.map((g) => g.mask)).size > 1,
    many = lanesOf(group.mask).length;
  const lanes = several ? `the ${plural(many, "lane")} that lane ${who} is with` : plural(many, "lane");
  const got = found.got.length ? found.got[0][1][who] : "",
    says = lanesOf(group.mask).filter(found.said).length;
  const others = group.lanes.filter((k) => k !== who).length;
  const kinds = found.given ? new Set(lanesOf(group.mask).map((k) => found.given[k])).size : 0;
  let out;
  if (code.action === "VOTE" && code.mode === "ballot")
    out = `Each lane says yes or no by ${name}: of ${lanes}, ${says} say yes. ${into(code.d)} holds the answers as bits, ${got}.`;
  else if (code.action === "VOTE")
    out = `Asks whether ${ASKED[code.mode]}: of ${lanes}, ${says} say yes by ${name}. ${into(code.d)} becomes ${got}.`;
  else if (code.action === "ACTIVE_MASK")
    out = `${plural(many, "lane")} ${many === 1 ? "is" : "are"} active: ${into(code.d)} becomes ${got}.`;
  else if (code.action === "MATCH" && code.mode === "any")
    out = `Lanes with the same ${what} find each other: ${plural(kinds, "value")} among ${lanes}. Lane ${who} holds ${found.given?.[who] ?? "?"}, as ${others === 0 ? "no other does" : others === 1 ? "1 other does" : `${others} others do`}: ${into(code.d)} becomes ${got}.`;
  else if (code.action === "MATCH")
    out = `Asks whether all lanes hold the same ${what}: ${plural(kinds, "value")} among ${lanes}. ${found.got.map(([k, texts]) => `${names[k]} becomes ${texts[who]}`).join(", ")}.`;
  else if (code.action === "REDUCE_LANES")
    out = `${into(code.d)} becomes ${MADE[code.operation]} of ${code.abs ? "the magnitudes of " : ""}${name} over ${lanes}: ${got}.`;
  else {
    const elected = found.here.filter(found.marked);
    out = `One of ${lanes} is elected: ${into(code.p)} is true in lane ${elected.join(", ") || "none"} alone.`;
  }
  if (found.outside.length)
    out += ` ${plural(found.outside.length, "active lane")} ${found.outside.length === 1 ? "is" : "are"} not in the mask.`;
  if (found.absent.length)
    out += ` The mask also names ${plural(found.absent.length, "lane")} that ${found.absent.length === 1 ? "is" : "are"} not active.`;
  return out;
}

/** The same lane by lane. */
export function tableCollective(code, found, names) {
  const gave = found.given
    ? [`gave ${code.not ? "!" : ""}${typeof code.a === "number" ? names[code.a] : "a constant"}`]
    : [];
  const heads = ["lane", "decides with", ...gave, ...found.got.map(([k]) => names[k])],
    texts = [...(found.given ? [found.given] : []), ...found.got.map(([, given]) => given)];
  return tableOf(
    heads,
    found.here.map((k) => [k, wholeMask(found.members(k)), ...texts.map((of) => of[k])]),
  );
}

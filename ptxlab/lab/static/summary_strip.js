// The strip of figures at the top: what the assembler, the run and the comparison said, each beside what it was before.

const PAGES = { executed: "counters", sectors: "counters", conflicts: "counters", occupancy: "roofline", max_error: "error", tolerance: "error" };
const LESS = -1, MORE = 1; // which way is better, where one is

/**
 * The figures from an answer: [label, key, value, text, detail, better]. `key` is the name in `deltas`, `text` writes a
 * value, `better` says which way a change is an improvement (0 where neither is).
 */
function figuresOf(code, assembly, run) {
  const a = assembly?.state === "ok" ? assembly : null, e = run?.error, o = a?.occupancy;
  const none = assembly?.state === "missing" ? "no assembler here" : assembly?.state === "error" ? "✗ refused" : "";
  const refused = assembly?.state === "error" ? "bad" : "";
  const rows = Object.fromEntries((run?.counters?.memory || []).map((r) => [r.name.trim(), r]));
  const sectors = rows["global sectors"], waves = rows["shared wavefronts"], conflicts = run?.counters ? rows["bank conflicts"]?.value ?? 0 : null;
  const measured = run?.device === "GPU" ? `GPU: ${duration(run.seconds)}` : "";
  const bytes = (n) => (n >= 1024 ? `${short(n / 1024)} KiB` : `${n} B`), share = (x) => `${short(x)} %`;
  return [
    { label: "PTX", key: "instructions", value: code?.instructions, text: String, detail: "instructions", title: code && `built in ${duration(code.seconds)}` },
    { label: "registers", key: "registers", value: a?.registers, text: String, better: LESS, detail: !a ? none : a.spill_bytes ? `⚠ ${a.spill_bytes} B spilled` : "no spills",
      mood: a?.spill_bytes ? "warn" : refused, title: a ? `a thread, on ${a.arch}` : assembly?.note },
    { label: "shared memory", key: "shared_bytes", value: a?.shared_bytes, text: bytes, better: LESS, detail: a ? "a block" : none, mood: refused, title: assembly?.note },
    { label: "occupancy", key: "occupancy", value: o?.percent, text: share, better: MORE, detail: o ? `by ${o.limiter}` : none, mood: refused, title: o?.text || assembly?.note },
    { label: "executed", key: "executed", value: run?.thread_instructions, text: count, better: LESS, detail: measured || "thread-instr.",
      title: `thread-instructions: one instruction for one active thread${run?.seconds && !measured ? `; the CPU machine took ${duration(run.seconds)}, which says nothing about a GPU` : ""}` },
    { label: "sectors", key: "sectors", value: sectors?.value, text: count, better: LESS, detail: sectors?.ideal ? `×${short(sectors.value / sectors.ideal)} of ideal` : "global memory", title: sectors?.says },
    { label: "bank conflicts", key: "conflicts", value: conflicts, text: count, better: LESS, detail: waves ? `in ${count(waves.value)} wavefronts` : run?.counters ? "no shared memory" : "",
      title: rows["bank conflicts"]?.says },
    { label: "max error", key: "max_error", value: e?.max, text: short, detail: e ? `${short(e.ulp, 2)} ULP` : "", title: `against numpy float64 on the same inputs${e ? `; mean ${short(e.mean, 2)}` : ""}` },
    { label: "tolerance", key: "tolerance", value: e?.tolerance, text: short, detail: e ? (e.ok ? "✓ pass" : "✗ FAIL") : "", mood: e ? (e.ok ? "good" : "bad") : "", title: e && `log-sum-exp off by ${short(e.lse)}` },
  ];
}

const GROWING = ["executed", "sectors", "conflicts"]; // counts, which grow with the problem

/** "better", "worse" or "" for a change of a figure. */
function verdict(was, now, better) {
  if (!better || typeof was !== "number" || typeof now !== "number" || was === now) return "";
  return Math.sign(now - was) === better ? "better" : "worse";
}

/**
 * Always the same figures, so that nothing moves when results arrive; what is not known yet is a dash. `was` are those of
 * the setting that is compared with, {title, figures, work}, or null: where one differs, both are shown; counts of a problem
 * of another size are judged by what they are for equal work. `onopen(page, key)`
 * hears of a figure that is pressed: of the page of results that has more about it.
 */
function stripFigures(code, assembly, run, was, onopen) {
  return figuresOf(code, assembly, run).map((f) => {
    const known = f.value !== null && f.value !== undefined, before = was?.figures[f.key];
    const moved = known && before !== null && before !== undefined && f.text(before) !== f.text(f.value);
    const work = moved && before > 0 && GROWING.includes(f.key) ? was.work : 1, fair = before * work;
    const tone = moved ? verdict(fair, f.value, f.better) : "";
    const equal = work === 1 ? "" : `×${short(f.value / fair)} for equal work`;
    const page = PAGES[f.key];
    const css = ["div.pl-figure", f.mood && `pl-${f.mood}`, moved && "pl-moved", page && "pl-leads"].filter(Boolean).join(".");
    const says = [moved && `${f.label} ${f.text(before)} → ${f.text(f.value)}: ${was.title}`, equal && `the problem is ${short(work)} times as large: ${equal}`, equal && f.detail, f.title, page && (f.key === "conflicts" && f.value ? "press: the line that has most of them, and why" : "press: more about it below")].filter(Boolean).join("\n");
    return h(css, { title: says, onclick: page ? () => onopen(page, f.key) : null },
      h("dt", null, page ? h("button.pl-quiet.pl-why", { type: "button" }, f.label) : f.label),
      h("dd", null, moved ? h("span.pl-was", null, `${f.text(before)} → `) : null, h(tone ? `span.pl-${tone}` : "span", null, known ? f.text(f.value) : "–"), h("small", null, equal || f.detail || " ")));
  });
}

// The strip of figures at the top: what the assembler, the run and the comparison said, in eight numbers.

/** One figure of the strip: a label, a value, a line of detail under it, and more on hover. */
function figure(label, value, detail, mood, title) {
  return h(mood ? `div.pl-figure.pl-${mood}` : "div.pl-figure", { title: title || "" },
    h("dt", null, label), h("dd", null, value, h("small", null, detail || " ")));
}

/** Always the same eight figures, so that nothing moves when results arrive; what is not known yet is a dash. */
function stripFigures(code, assembly, run) {
  const a = assembly?.state === "ok" ? assembly : null, e = run?.error, o = a?.occupancy;
  const none = assembly?.state === "missing" ? "no assembler here" : assembly?.state === "error" ? "✗ refused" : "";
  const mood = assembly?.state === "error" ? "bad" : "";
  const spills = !a ? none : a.spill_bytes ? `⚠ ${a.spill_bytes} B spilled` : "no spills";
  return [
    figure("PTX", code ? String(code.instructions) : "–", "instructions", "", code && `built in ${duration(code.seconds)}`),
    figure("registers", a ? String(a.registers) : "–", spills, a?.spill_bytes ? "warn" : mood, a ? `a thread, on ${a.arch}` : assembly?.note),
    figure("shared memory", !a ? "–" : a.shared_bytes >= 1024 ? `${short(a.shared_bytes / 1024)} KiB` : `${a.shared_bytes} B`, a ? "a block" : none, mood, assembly?.note),
    figure("occupancy", o ? `${short(o.percent)} %` : "–", o ? `by ${o.limiter}` : none, mood, o?.text || assembly?.note),
    figure("time", duration(run?.seconds), run ? run.device : "", "", run?.cached ? "this setting ran before: its result was kept" : ""),
    figure("executed", count(run?.thread_instructions), "thread-instr.", "", "thread-instructions: one instruction for one active thread"),
    figure("max error", short(e?.max), e ? `${short(e.ulp, 2)} ULP, mean ${short(e.mean, 2)}` : "", "", "against numpy float64 on the same inputs"),
    figure("tolerance", short(e?.tolerance), e ? (e.ok ? "✓ pass" : "✗ FAIL") : "", e ? (e.ok ? "good" : "bad") : "", e && `log-sum-exp off by ${short(e.lse)}`),
  ];
}

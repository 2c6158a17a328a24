// @ts-check
// Where a reader is in the code, carried to the next version of it: the instruction stays, whatever its line is now.

const plain = (line) => line.replace(/<[^>]*>/g, "");

const known = new WeakMap(); // of the lines of each version that was asked about, their landmarks

/** What is said of each line to find it again: its opcode and the source line that wrote it; null for other lines. */
function landmarks(code) {
  if (known.has(code.ptx)) return known.get(code.ptx);
  const source = new Map(code.links);
  const marks = code.ptx.map((line, k) => {
    if (!line.includes('class="o"')) return null;
    const opcode = plain(line)
        .trim()
        .replace(/^@\S+\s+/, "")
        .split(/\s/)[0],
      written = code.python?.lines[source.get(k + 1) - 1];
    return { opcode, written: written && plain(written).trim() };
  });
  known.set(code.ptx, marks);
  return marks;
}

/** The line of `to` that is what `line` was in `from`; null where nothing like it is left. Of an unrolled loop, which
 * has the same instruction many times, it is the one as far along. */
export function carried(from, to, line) {
  const old = landmarks(from),
    now = landmarks(to),
    mark = old[line - 1];
  if (!mark) return null;
  const alike = (marks, same) => marks.flatMap((other, k) => (other && same(other) ? [k + 1] : []));
  const tries = [
    (m) => m.opcode === mark.opcode && m.written === mark.written,
    mark.written && ((m) => m.written === mark.written),
  ];
  for (const same of tries.filter(Boolean)) {
    const before = alike(old, same),
      after = alike(now, same);
    if (!after.length) continue;
    const nth = before.indexOf(line);
    return after[
      before.length === after.length || nth < 1
        ? Math.min(nth, after.length - 1)
        : Math.round((nth / (before.length - 1)) * (after.length - 1))
    ];
  }
  return null;
}

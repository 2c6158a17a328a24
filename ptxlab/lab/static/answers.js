// What comes from the kernel, as the page uses it: parts of an answer, and a page that Python has made.

const texts = new TextDecoder();
const KEPT = 80; // parts that are kept: some more than Python takes for granted (`KNOWN` in lab/view.py)

/** What reads the parts of an answer. The large ones come as the bytes of their JSON, which is read once, when it is
 * wanted, or whole; they are kept under their numbers: of one that has come before, Python sends the number alone. null
 * where that is not known, as on a page that was opened later: then `missing()` asks for the whole. */
function makeUnpacked(missing) {
  const read = new WeakMap(), kept = new Map(); // by the value of the trait; by number
  function keep(ref, found) {
    kept.delete(ref); // the newest stand last
    kept.set(ref, found);
    for (const old of [...kept.keys()].slice(0, -KEPT)) kept.delete(old);
  }
  function content(value) {
    const found = value.json ? parsed(value.json) : value.whole || kept.get(value.ref);
    if (comes(value) && value.ref !== undefined) keep(value.ref, found);
    return found;
  }
  const unpacked = (value) => {
    if (!comes(value) && value?.ref === undefined) return value;
    if (!read.has(value)) {
      const found = content(value);
      value.lost = !found;
      if (!found) missing();
      read.set(value, found ? { ...found, seq: value.seq } : null);
    }
    return read.get(value);
  };
  /** Keeps parts that are likely to be wanted next; the message of `foretell` in lab/view.py, and what came with it. */
  unpacked.expect = ({ sent }, buffers) => sent.forEach((ref, k) => keep(ref, parsed(buffers[k])));
  unpacked.known = (ref) => kept.get(ref);
  return unpacked;
}

const parsed = (bytes) => JSON.parse(texts.decode(bytes));

/** Whether a part has come with what is in it. */
const comes = (value) => Boolean(value?.json || value?.whole);

const numbersOf = new WeakMap(); // by a part's bytes

/** The numbers of a part's bytes. */
function floats(view) {
  if (!numbersOf.has(view)) numbersOf.set(view, new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength)));
  return numbersOf.get(view);
}

const WHOLE = ["code", "diff", "assembly", "run", "state", "deltas"]; // what the answer to a setting consists of
const REMEMBERED = 12; // settings whose answers a page keeps

/** The answers to settings, which show at once what was seen before, while the kernel is asked for it once more, and
 * the code and the diff of the setting that the kernel has foretold. `answered()` tells whether the kernel's last word is
 * its answer to what the controls say. */
function makeMemory(model, unpacked, answered) {
  const kept = new Map(); // by setting: the parts of its answer, their numbers, the pinned version, the setting before
  let foretold = null; // the same of the setting that is likely next, with its code and its diff alone
  let shown = null, last = null; // the answer that stands in for the kernel's, and the last that did
  let settled = ["", ""]; // the settings of the kernel's last two answers
  const seq = () => model.get("status").seq;
  const each = (make) => Object.fromEntries(WHOLE.map((part) => [part, make(part)]));

  /** Keeps the kernel's answer to this setting, which stands on the page. */
  function remember(setting) {
    if (setting !== settled[1]) settled = [settled[1], setting];
    const parts = each((part) => unpacked(model.get(part)));
    const whole = WHOLE.every((part) => parts[part]?.seq === seq() || (part === "state" && !parts.state));
    if (!whole || parts.run.sample || model.get("problem")) return;
    kept.delete(setting);
    kept.set(setting, { parts, refs: each((part) => model.get(part)?.ref), pinned: model.get("pinned"), previous: settled[0] });
    for (const old of [...kept.keys()].slice(0, -REMEMBERED)) kept.delete(old);
  }

  /** Shows the kept answer to a setting, or what is foretold of it; the parts that have to be painted now: those of that
   * answer, or of the kernel's if there is none. `heard`: whether the kernel's last word is about this setting. */
  function recall(setting, heard) {
    const found = setting !== null && !model.get("wants_sass") ? kept.get(setting) || (foretold?.setting === setting ? foretold : undefined) : undefined, before = shown;
    shown = found && found.pinned === model.get("pinned") ? standingIn(found, heard) : null;
    if (shown && before?.refs === shown.refs && before.seq === shown.seq) return [];
    last = shown || last;
    return shown || before ? painted(before, shown) : [];
  }
  /** An answer under the number of the request that the kernel works at or is about to hear of. */
  function standingIn({ parts, refs, previous }, heard) {
    const now = seq() + (heard ? 0 : 1), some = Object.entries(parts).map(([part, value]) => [part, value && { ...value, seq: now }]);
    const found = { refs, seq: now, parts: Object.fromEntries(some) };
    if (found.parts.deltas && previous !== settled[1]) found.parts.deltas.previous = null;
    if (!heard) found.parts.problem = null; // until the kernel says that there is one
    return found;
  }
  /** The names of the parts that answers have. */
  const painted = (...answers) => [...WHOLE, "problem"].filter((name) => answers.some((answer) => answer && (name in answer.parts || name === "problem")));

  /** What the kernel foretells: of the setting in its message, the numbers of some parts. */
  function foretell(setting, refs) {
    const parts = Object.fromEntries(Object.entries(refs).map(([part, ref]) => [part, unpacked.known(ref)]));
    foretold = setting !== null && Object.values(parts).every(Boolean) ? { setting, parts, refs, pinned: model.get("pinned") } : null;
  }

  /** Whether a part of the kernel's answer stands on the page already. */
  function same(name) {
    const now = model.get(name);
    return name in last.refs && (now ? now.ref !== undefined && now.ref === last.refs[name] && now.seq === last.seq : !last.parts[name]);
  }

  return {
    remember, recall, foretell,
    /** The kernel's answer counts again; the names of its parts that have to be painted. */
    forget() {
      const stood = shown;
      shown = null;
      return stood ? painted(stood).filter((name) => !same(name)) : [];
    },
    part: (name) => (shown && name in shown.parts ? shown.parts[name] : undefined),
    seq: () => shown?.seq ?? seq(),
    /** Whether what has come of a part need not be painted: it stands there, or the answer to a newer setting does. */
    stands: (name) => (shown && name in shown.parts && !answered() ? true : last !== null && same(name)),
  };
}

/** The parts of the answers that have come, as the page asks for them. */
function makeAnswers(model, answered) {
  const unpacked = makeUnpacked(() => model.send({ do: "whole" })), memory = makeMemory(model, unpacked, answered);
  const data = (part) => { const recalled = memory.part(part); return recalled === undefined ? unpacked(model.get(part)) : recalled; };
  const code = () => data("code");
  /** A part, if it answers the request whose code is shown. */
  const fresh = (part) => {
    const value = data(part);
    return value && value.seq === code()?.seq ? value : null;
  };
  // Of a large problem only some rows were run: what row of the result a query row is, and the other way round.
  const numbers = () => data("run")?.map?.numbers;
  const rowNumber = (index) => numbers()?.[index] ?? index;
  const rowIndex = (row) => (numbers() ? numbers().reduce((best, number, k, all) => (Math.abs(number - row) < Math.abs(all[best] - row) ? k : best), 0) : row);
  return { data, code, fresh, rowNumber, rowIndex, memory, expect: unpacked.expect };
}

/** A message beside the answers: parts of one that is likely to be wanted next, or a page that Python has made, which is
 * given to the browser as a file. `setting` makes of what controls would say the text that the status line makes of what
 * they say. */
function received(message, buffers, answers, setting) {
  if (message.do === "ahead") {
    answers.expect(message, buffers);
    answers.memory.foretell(message.asked && setting(message.subject, message.asked), message.parts);
  }
  if (message.do !== "share") return;
  const file = URL.createObjectURL(new Blob([buffers[0]], { type: "text/html" }));
  h("a", { href: file, download: message.name }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10000);
}

// What comes from the kernel, as the page uses it: parts of an answer, and a page that Python has made.

const texts = new TextDecoder(), parsed = new WeakMap();

/** A part of an answer; the large ones come as the bytes of their JSON, which is read once, when it is wanted. */
function unpacked(value) {
  if (!value?.json) return value;
  if (!parsed.has(value)) parsed.set(value, { ...JSON.parse(texts.decode(value.json)), seq: value.seq });
  return parsed.get(value);
}

/** The numbers of a part's bytes. */
const floats = (view) => new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));

/** The parts of the answers that have come, as the page asks for them. */
function makeAnswers(model) {
  const data = (part) => unpacked(model.get(part)), code = () => data("code");
  /** A part, if it answers the request whose code is shown. */
  const fresh = (part) => {
    const value = data(part);
    return value && value.seq === code()?.seq ? value : null;
  };
  // Of a large problem only some rows were run: what row of the result a query row is, and the other way round.
  const numbers = () => data("run")?.map?.numbers;
  const rowNumber = (index) => numbers()?.[index] ?? index;
  const rowIndex = (row) => (numbers() ? numbers().reduce((best, number, k, all) => (Math.abs(number - row) < Math.abs(all[best] - row) ? k : best), 0) : row);
  return { data, code, fresh, rowNumber, rowIndex };
}

/** A page that Python has made is given to the browser as a file. */
function received(message, buffers) {
  if (message.do !== "share") return;
  const file = URL.createObjectURL(new Blob([buffers[0]], { type: "text/html" }));
  h("a", { href: file, download: message.name }).click();
  setTimeout(() => URL.revokeObjectURL(file), 10000);
}

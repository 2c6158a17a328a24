// @ts-check
// Small helpers that the explorer's other files share: elements, numbers as people write them, tooltips, toggles.
// The files of this folder are joined into one ES module, in the order that lab/assets.py names.

/** Creates an element: h("button.pin", {onclick}, "Pin"). Properties with a dash, `role` and `d` become attributes. */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const el = document.createElement(name);
  if (name === "button") el.setAttribute("type", "button");
  if (classes.length) el.className = classes.join(" ");
  for (const [key, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.includes("-") || key === "role" || key === "scope") el.setAttribute(key, value);
    else el[key] = value;
  }
  el.append(...children.flat(3).filter((c) => c || c === 0));
  return el;
}

/** The same for SVG: s("line", {x1: 0, ...}). */
export function s(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(props || {})) el.setAttribute(key, value);
  el.append(...children.flat());
  return el;
}

/** Makes a node what another one of its kind is. What is alike stays, so that the browser need not lay it out again. */
function become(node, now) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== now.data) node.data = now.data;
    return;
  }
  if (!node.cloneNode(false).isEqualNode(now.cloneNode(false))) {
    for (const { name, value } of now.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    for (const { name } of [...node.attributes]) if (!now.hasAttribute(name)) node.removeAttribute(name);
  }
  node.onclick = now.onclick;
  contain(node, now.childNodes);
}

/** The same for what a node contains: `replaceChildren` that keeps what is alike. */
export function contain(node, children) {
  let had = node.firstChild;
  for (const child of [...children]) {
    const next = had?.nextSibling;
    if (!had) node.append(child);
    else if (had.nodeName !== child.nodeName) had.replaceWith(child);
    else if (!had.isEqualNode(child)) become(had, child);
    had = next;
  }
  while (had) {
    const next = had.nextSibling;
    had.remove();
    had = next;
  }
}

/** Marks the output of a notebook that a widget stands in, as soon as it does: the style sheet shows it in place of its
 * copy. A style sheet that looked for the widget (`:has`) would look through it after each of its changes. */
export function markLive(el, frames = 600) {
  if (!el.isConnected) return frames > 0 && requestAnimationFrame(() => markLive(el, frames - 1));
  if (!el.closest(".ptxlab-copy")) el.closest(".jp-OutputArea-child")?.classList.add("ptxlab-live");
}

/** 1234567 -> "1.23 M". */
export function count(n) {
  if (n === null || n === undefined) return "–";
  for (const [unit, size] of Object.entries({ G: 1e9, M: 1e6, k: 1e3 }))
    if (n >= size) return Number((n / size).toPrecision(3)) + " " + unit;
  return String(Math.round(n));
}

export const grouped = new Intl.NumberFormat("en"); // 1234567 -> "1,234,567"; `toLocaleString` would make one for each number

/** So many of something: 1 lane, 2 lanes. */
export const plural = (n, one, several = `${one}s`) => `${n} ${n === 1 ? one : several}`;

export const hex = (n) => "0x" + n.toString(16);

/** Seconds -> "12.3 ms". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds >= 1) return seconds.toFixed(2) + " s";
  if (seconds >= 1e-3) return (seconds * 1e3).toFixed(seconds >= 0.1 ? 0 : 1) + " ms";
  return (seconds * 1e6).toFixed(0) + " µs";
}

/** A number with few digits: 0, 0.125, 3.1e-7, −∞. */
export function short(x, digits = 3) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (typeof x === "string") return x; // "NaN" and "∞", which JSON cannot carry
  if (x === Infinity) return "∞";
  if (x === -Infinity) return "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return x.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  return String(Number(x.toPrecision(digits)));
}

/** A button; `label` says what it does where its text is a sign. */
export const button = (text, title, onclick, css = "pl-button", label = null) =>
  h(`button.${css}`, { title, "aria-label": label, onclick }, text);

/** A list to choose from, of [value, text]. */
export const select = (label, options, onchange) =>
  h(
    "select",
    { "aria-label": label, onchange },
    options.map(([value, text]) => h("option", { value }, text)),
  );

/** How far an arrow goes in a picture: [rows, columns]. */
export const ARROWS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Takes keys of an element: `acts(event)` gives what one does, nothing where it is not for this element. */
export function onKeys(el, acts) {
  el.addEventListener("keydown", (e) => {
    const act = acts(e);
    if (!act) return;
    e.preventDefault();
    e.stopPropagation();
    act();
  });
}

/** A group of buttons of which one is pressed. `onpick` gets the key. */
export function choice(label, options, picked, onpick) {
  const group = h("div.pl-choice", { role: "group", "aria-label": label });
  const mark = (key) => {
    for (const b of group.children) b.setAttribute("aria-pressed", String(b.dataset.key === key));
  };
  for (const [key, text, title] of options) {
    const one = h("button", { title: title || "", onclick: () => group.pick(key) }, text);
    one.dataset.key = key;
    group.append(one);
  }
  mark(picked);
  group.pick = (key) => {
    mark(key);
    onpick(key);
  };
  return group;
}

/** A card with a title, a button that swaps the picture for its table, and a place for a line of text below. */
export function card(title, picture) {
  const toggle = h("button.pl-quiet", { "aria-pressed": "false" }, "Table");
  const note = h("span.pl-note");
  const read = h("p.pl-readout", { "aria-live": "polite", tabIndex: 0 });
  const table = h("div.pl-table", { hidden: true, tabIndex: 0, role: "group", "aria-label": `${title}, as a table` });
  toggle.onclick = () => {
    table.hidden = !table.hidden;
    if (!table.hidden) table.fill?.();
    picture.hidden = !table.hidden;
    toggle.setAttribute("aria-pressed", String(!table.hidden));
  };
  const head = h("header", null, h("h4", null, title), note, h("span.pl-spring"), toggle),
    el = h("section.pl-card", { "aria-label": title }, head, picture, table, read);
  /** The table is made when it is first looked at: `make` gives its parts. */
  const later = (make) => {
    table.fill = () => {
      table.fill = null;
      table.replaceChildren(...make());
    };
    if (!table.hidden) table.fill();
  };
  return { el, note, read, table, later };
}

/** A table with a header row. Rows and cells are what stands in them, or the elements that they are. */
export function tableOf(heads, rows) {
  const as = (tag, what, props) => (what?.localName === tag ? what : h(tag, props, what));
  const head = heads.map((t) => as("th", t, { scope: "col" })),
    body = rows.map((row) => (Array.isArray(row) ? h("tr", null, ...row.map((c) => as("td", c))) : row));
  return h("table", null, h("thead", null, h("tr", null, head)), h("tbody", null, body));
}

/** Prose with `words` in backticks set as code. */
export function prose(text) {
  return text.split("`").map((part, k) => (k % 2 ? h("code", null, part) : part));
}

/** One tooltip for the whole widget, placed beside what it explains and kept inside `root`. */
export function makeTooltip(root) {
  const el = h("div.pl-tip", { role: "tooltip", hidden: true });
  root.append(el);
  return {
    show(target, content) {
      el.replaceChildren(...content);
      el.hidden = false;
      const box = target.getBoundingClientRect(),
        frame = root.getBoundingClientRect();
      const left = Math.max(4, Math.min(box.left - frame.left, frame.width - el.offsetWidth - 6));
      const below = box.bottom - frame.top + 4;
      const fits = below + el.offsetHeight < frame.height;
      el.style.left = left + "px";
      el.style.top = (fits ? below : Math.max(4, box.top - frame.top - el.offsetHeight - 4)) + "px";
    },
    hide() {
      el.hidden = true;
    },
  };
}

/** {width, height} of an element as it was last laid out; `draw` is called when they change. To ask the element itself while
 * the page is being changed would lay the page out at once, and once more for what changes after. */
export function sizeOf(el, draw) {
  const size = { width: 0, height: 0 };
  new ResizeObserver(() => {
    size.width = el.clientWidth;
    size.height = el.clientHeight;
    draw();
  }).observe(el);
  return size;
}

const toDraw = new Set(); // pictures that wait for the next frame

/** A function that runs `work` once in the next frame, or in `drawNow`, however often it is called before. */
export function onceAFrame(work) {
  return () => {
    if (!toDraw.size) requestAnimationFrame(drawNow);
    toDraw.add(work);
  };
}

/** Draws what waits. Called at the end of a frame's own work, it saves the page a second frame. */
export function drawNow() {
  const now = [...toDraw];
  toDraw.clear();
  for (const work of now) work();
}

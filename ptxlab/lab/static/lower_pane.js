// @ts-check
// What opens over the explorer, the debugger or over its code an editor, with the keyboard's focus in it.

const OPENED = '.ptxlab-editor .cm-content, .ptxlab-debugger[data-ready]:not([data-ready=""]) button:not(:disabled)';

/** `reveal(opener)` waits for what the press of a button opens; when that is closed, the focus goes back to the button. */
export function makeBelow(root, code) {
  let watch = null;
  const sizes = new ResizeObserver(() => {
    const frame = root.closest(".ptxlab-frame"),
      from = frame?.getBoundingClientRect(),
      at = code.getBoundingClientRect();
    if (!frame || !at.width) return;
    const places = { left: at.left - from.left, top: at.top - from.top, width: at.width, height: at.height };
    for (const [name, pixels] of Object.entries(places)) frame.style.setProperty(`--pl-code-${name}`, `${pixels}px`);
  });
  sizes.observe(code);
  sizes.observe(root);

  function reveal(opener) {
    const below = root.closest(".ptxlab-app")?.querySelector(".ptxlab-below");
    if (!below) return;
    const before = below.querySelector(OPENED),
      idle = () => [opener, document.body].includes(document.activeElement);
    let open = null;
    watch?.disconnect();
    watch = new MutationObserver(() => {
      const now = below.querySelector(OPENED);
      if (!open && now && now !== before) {
        open = now;
        if (idle()) now.focus({ preventScroll: true });
      } else if (open && !below.childElementCount) {
        watch.disconnect();
        if (idle()) opener.focus({ preventScroll: true });
      }
    });
    watch.observe(below, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-ready"] });
  }

  return {
    reveal,
    stop() {
      watch?.disconnect();
      sizes.disconnect();
    },
  };
}

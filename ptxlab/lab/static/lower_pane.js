// @ts-check
// What opens below the explorer, the debugger or an editor: brought into sight, with the keyboard's focus in it.

const OPENED = '.ptxlab-editor .cm-content, .ptxlab-debugger[data-ready]:not([data-ready=""]) button:not(:disabled)';
const REVEALS = 3000; // milliseconds after a press in which what opens is scrolled to

/** `reveal(opener)` waits for what the press of a button opens; when that is closed, the focus goes back to the button. */
export function makeBelow(root) {
  let watch = null;

  function reveal(opener) {
    const below = root.closest(".ptxlab-app")?.querySelector(".ptxlab-below");
    if (!below) return;
    const before = below.querySelector(OPENED),
      began = performance.now(),
      idle = () => [opener, document.body].includes(document.activeElement);
    let open = null;
    watch?.disconnect();
    watch = new MutationObserver(() => {
      const now = below.querySelector(OPENED);
      if (performance.now() - began < REVEALS) below.scrollIntoView({ block: "nearest" });
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

  return { reveal, stop: () => watch?.disconnect() };
}

// Names for what ipywidgets leaves without one: the handles of the sliders that stand beside the explorer.

/** Gives each slider's handle the text of its label, now and whenever the parameters change. */
function nameSliders(el) {
  const name = () => {
    const panel = el.closest(".jp-OutputArea, .output, body")?.querySelector(".ptxlab-parameters");
    for (const slider of panel ? panel.querySelectorAll(".widget-slider") : [])
      for (const handle of slider.querySelectorAll("[role=slider]:not([aria-label])")) handle.setAttribute("aria-label", slider.querySelector("label")?.textContent || "value");
    return panel;
  };
  const wait = setInterval(() => {
    const panel = name();
    if (!panel) return; // not on the page yet
    clearInterval(wait);
    new MutationObserver(name).observe(panel, { childList: true, subtree: true });
  }, 200);
  return () => clearInterval(wait);
}

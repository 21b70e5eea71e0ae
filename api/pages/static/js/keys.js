// Keyboard shortcuts of a review: a, r and e press its buttons, unless a person types or has switched
// them off (speech input may press them by accident). Also opens and closes the parts below them.
(() => {
  const SWITCH = "fettle-keys";
  const on = () => localStorage.getItem(SWITCH) !== "off";
  const switched = document.getElementById("keys-on");
  const showSwitch = () => {
    document.documentElement.classList.toggle("keys-off", !on());
    if (switched) switched.checked = on();
  };

  showSwitch();
  if (switched) {
    switched.addEventListener("change", () => {
      if (switched.checked) localStorage.removeItem(SWITCH);
      else localStorage.setItem(SWITCH, "off");
      showSwitch();
    });
  }

  const fold = (part) => {
    part.hidden = true;
    part.dispatchEvent(new Event("fold"));
  };

  const unfold = (id) => {
    for (const part of document.querySelectorAll(".unfolded")) part.hidden = part.id !== id;
    const first = document.querySelector(`#${id} textarea`);
    if (first) first.focus();
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.unfolds) unfold(button.dataset.unfolds);
    if ("folds" in button.dataset) fold(button.closest(".unfolded"));
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.classList.contains("unfolded")) unfold(event.target.id);
  });

  // An opened part is loaded once: it may have been edited since.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target } = event.detail;
    if (elt.dataset.unfolds && target.querySelector("textarea")) event.preventDefault();
  });

  document.addEventListener("keydown", (event) => {
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (!on() || !plain || typing || event.repeat || document.querySelector("dialog[open]")) return;
    const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
    if (!button) return;
    event.preventDefault();
    button.click();
  });

  // A decision closes its dialog, so that an error notice is visible.
  document.addEventListener("htmx:afterRequest", (event) => {
    const dialog = event.target.closest("dialog[open]");
    if (dialog) dialog.close();
  });
})();

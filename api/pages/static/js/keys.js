// Keyboard shortcuts of a review: a, r and e press its buttons, unless a person types or has switched
// the shortcuts off (speech input may press keys by accident). Also opens and closes the forms below
// the buttons.
(() => {
  const SWITCH = "fettle-keys";
  const isOn = () => localStorage.getItem(SWITCH) !== "off";
  const checkbox = document.getElementById("keys-on");
  const showSwitch = () => {
    document.documentElement.classList.toggle("keys-off", !isOn());
    if (checkbox) checkbox.checked = isOn();
  };

  showSwitch();
  if (checkbox) {
    checkbox.addEventListener("change", () => {
      if (checkbox.checked) localStorage.removeItem(SWITCH);
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

  // A form is loaded once, because a person may have edited it since.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target } = event.detail;
    if (elt.dataset.unfolds && target.querySelector("textarea")) event.preventDefault();
  });

  document.addEventListener("keydown", (event) => {
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (!isOn() || !plain || typing || event.repeat || document.querySelector("dialog[open]")) return;
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

// Keyboard shortcuts of a review: a, r, e, x and c open its forms, unless a person types or has switched
// them off (speech input may press them by accident). The address of a form (#approve) opens it, too.
// Escape closes a form. No key decides: each form has a button for that, and a form that needs a remark
// puts the cursor into the remark.
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

  const focusFirst = (act) => {
    const first = act.querySelector("textarea") || act.querySelector("button[type=submit]");
    const inside = document.activeElement.closest(".act > :not(summary)");
    if (first && !(inside && act.contains(inside))) first.focus();
  };
  const open = (act) => {
    for (const other of document.querySelectorAll(".act[open]")) other.open = other === act;
    act.open = true;
    focusFirst(act);
  };

  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named && named.matches(".act")) open(named);

  document.addEventListener("toggle", (event) => {
    if (event.target.matches(".act[open]")) focusFirst(event.target);
  }, true);
  document.addEventListener("htmx:afterSwap", (event) => {
    const act = event.target.closest(".act[open]");
    if (act) focusFirst(act);
  });

  document.addEventListener("keydown", (event) => {
    const act = event.target.closest(".act[open]");
    if (event.key === "Escape" && act) {
      act.open = false;
      act.querySelector("summary").focus();
      return;
    }
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (!isOn() || !plain || typing || event.repeat) return;
    const control = document.querySelector(`summary[data-key="${CSS.escape(event.key)}"]`);
    if (!control) return;
    event.preventDefault();
    open(control.parentElement);
  });
})();

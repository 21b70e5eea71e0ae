// Keys of the inbox: j and k move through its jobs, Enter (a link's own key) opens one, and a, r, e, x and
// c open one with this form, which acts only by its button. On a job's page, u goes back to the inbox.
(() => {
  const FORMS = { a: "approve", r: "revise", e: "edit", x: "reject", c: "claim" };

  const move = (step) => {
    const links = [...document.querySelectorAll("#inbox .row-title")];
    const current = links.indexOf(document.activeElement);
    const next = links[current < 0 ? 0 : current + step];
    if (next) next.focus();
  };

  const goBack = () => {
    location.assign(`/app/inbox${location.search}`);
  };

  document.addEventListener("keydown", (event) => {
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    const isOff = document.documentElement.classList.contains("keys-off");
    if (isOff || !plain || typing) return;
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (FORMS[event.key] && event.target.matches("#inbox .row-title")) {
      location.assign(`${event.target.href}#${FORMS[event.key]}`);
    }
    else if (event.key === "u" && !event.repeat && document.querySelector("[data-job]")) goBack();
  });
})();

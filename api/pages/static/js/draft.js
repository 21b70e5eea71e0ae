// What is typed into a field with a draft is there again after a reload, until it was sent.
(() => {
  const PREFIX = "fettle-draft:";
  const keyOf = (field) => PREFIX + field.dataset.draft;

  const fill = (root) => {
    for (const field of root.querySelectorAll("[data-draft]")) {
      const kept = localStorage.getItem(keyOf(field));
      if (kept && !field.value) {
        field.value = kept;
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }
    }
  };

  fill(document);
  document.addEventListener("htmx:afterSwap", (event) => fill(event.target));
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.dataset || !field.dataset.draft) return;
    if (field.value) localStorage.setItem(keyOf(field), field.value);
    else localStorage.removeItem(keyOf(field));
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful) return;
    for (const field of event.target.querySelectorAll("[data-draft]")) localStorage.removeItem(keyOf(field));
  });
})();

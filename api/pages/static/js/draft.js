// Keeps drafts over a reload: of a field with `data-draft`, and of every field of a form with
// `data-drafts`. Drafts belong to the signed-in key. Signing out deletes them, so that the next
// person at this browser cannot read them. In a form that the server has filled in, the draft of the task
// counts, but not those of its options.
(() => {
  const PREFIX = "fettle-draft:";
  const OF_FORMS = "[data-drafts] :is(input, select, textarea)[name]:not([type=file], [type=hidden])";
  const FIELDS = `[data-draft], ${OF_FORMS}`;

  const keyOf = (field) => {
    const name = field.dataset.draft || `${field.form.dataset.drafts}.${field.name}`;
    return `${PREFIX}${document.body.dataset.visitor}:${name}`;
  };
  const ticks = (field) => field.type === "checkbox";
  const valueOf = (field) => (ticks(field) ? String(field.checked) : field.value);
  const isDefault = (field) => {
    if (ticks(field)) return field.checked === field.defaultChecked;
    return field.options ? field.selectedIndex === 0 : field.value === field.defaultValue;
  };
  const forget = (fields) => fields.forEach((field) => localStorage.removeItem(keyOf(field)));

  const fill = (root) => {
    for (const field of root.querySelectorAll(FIELDS)) {
      const draft = localStorage.getItem(keyOf(field));
      if (draft === null || !isDefault(field)) continue;
      if (field.form && "filled" in field.form.dataset && field.name !== "task") continue;
      if (ticks(field)) field.checked = draft === "true";
      else field.value = draft;
      const folded = field.closest("details:not(.act)");
      if (folded) folded.open = true;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };

  fill(document);
  document.addEventListener("htmx:afterSwap", (event) => fill(event.target));
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (!field.matches || !field.matches(FIELDS)) return;
    if (isDefault(field)) forget([field]);
    else localStorage.setItem(keyOf(field), valueOf(field));
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { successful, xhr } = event.detail;
    const leaves = xhr && xhr.getResponseHeader("HX-Redirect");
    if (successful || leaves) forget(event.target.querySelectorAll(FIELDS));
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.requestConfig.path !== "/app/sign-out") return;
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  });
})();

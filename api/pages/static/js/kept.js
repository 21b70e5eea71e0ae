// A region of a job's page is not replaced while a person types in it. A notice offers the update,
// which is shown on request, or when the input was sent or closed.
(() => {
  const waiting = new Map(); // updates by the region's id

  // A closed field with a draft gets its text back after the update.
  const hasInput = (field) =>
    field.value !== field.defaultValue && (field.checkVisibility() || !field.dataset.draft);
  // An open form counts even if it is empty: a person begins to type in it, and without the form these
  // keys would open other forms.
  const isInUse = (region) =>
    region.querySelector(".act[open], textarea:focus") !== null
    || [...region.querySelectorAll("textarea, input:not([type])")].some(hasInput);

  const offer = (region) => {
    if (region.querySelector(".changed-meanwhile")) return;
    const notice = document.getElementById("changed-meanwhile").content.cloneNode(true);
    region.prepend(notice);
  };

  const show = (region) => {
    const html = waiting.get(region.id);
    waiting.delete(region.id);
    if (html !== undefined) htmx.swap(region, html, { swapStyle: "innerHTML" });
  };

  const release = (region) => {
    if (region && waiting.has(region.id) && !isInUse(region)) show(region);
  };

  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    const region = event.target;
    const current = region.querySelector(":scope > [data-digest]");
    if (!current) return;
    waiting.delete(region.id);
    const isUnchanged = event.detail.data.includes(`data-digest="${current.dataset.digest}"`);
    if (isUnchanged) {
      event.preventDefault();
      region.querySelectorAll(".changed-meanwhile").forEach((notice) => notice.remove());
    } else if (isInUse(region)) {
      event.preventDefault();
      waiting.set(region.id, event.detail.data);
      offer(region);
    }
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-shows]")) show(event.target.closest(".region"));
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const { successful, elt } = event.detail;
    const region = elt.closest(".region");
    if (region && successful && elt.matches("form")) {
      elt.reset();
      const act = elt.closest(".act");
      if (act) act.open = false;
    }
    release(region);
  });

  document.addEventListener("toggle", (event) => release(event.target.closest(".region")), true);
})();

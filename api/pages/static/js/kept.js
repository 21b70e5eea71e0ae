// A region of a job's page is not replaced while a person types in it. A notice offers the update,
// which is shown on request, or when the input was sent or closed. The strip decides on the patch in
// Changes: while a person uses one of these two regions, neither is replaced, so that a decision or a
// comment on a line is about the patch that the person sees.
(() => {
  const waiting = new Map(); // updates by the region's id

  // A closed field with a draft gets its text back after the update, but not if the draft belongs to the
  // review (comments on lines).
  const hasInput = (field) =>
    field.value !== field.defaultValue
    && (field.checkVisibility() || !field.dataset.draft || field.name === "comments");
  // An open form counts even if it is empty: a person begins to type in it, and without the form these
  // keys would open other forms.
  const isInUse = (region) =>
    region.querySelector(".act[open], textarea:focus") !== null
    || [...region.querySelectorAll("textarea, input:not([type])")].some(hasInput);

  const PAIR = "#strip, #changes";
  const withPartner = (region) => (region.matches(PAIR) ? [...document.querySelectorAll(PAIR)] : [region]);
  const isKept = (region) => withPartner(region).some(isInUse);

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
    if (region && !isKept(region)) withPartner(region).forEach(show);
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
    } else if (isKept(region)) {
      event.preventDefault();
      waiting.set(region.id, event.detail.data);
      offer(region);
    } else withPartner(region).forEach(show);
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-shows]")) withPartner(event.target.closest(".region")).forEach(show);
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const { successful, elt } = event.detail;
    const region = elt.closest(".region");
    if (region && successful && elt.matches("form")) {
      elt.reset();
      const act = elt.closest(".act");
      if (act) act.open = false;
      // After the person's own decision, comments that were not sent keep no region.
      if (/\/(review|cancel)$/.test(elt.getAttribute("action"))) {
        for (const field of region.querySelectorAll("[name=comments]")) field.value = field.defaultValue;
      }
    }
    release(region);
  });

  document.addEventListener("toggle", (event) => release(event.target.closest(".region")), true);
})();

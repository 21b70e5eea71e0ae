// Shows a notice where an answer is missing or not from Fettle (a proxy's error): else a lost decision
// looks like an applied one. Fettle's own refusals say how to show them. Parts that a page loads by
// itself, such as the changes of a review, are requested again.
(() => {
  const AGAIN_MS = 2000;
  const notice = document.getElementById("notice");
  const fromFettle = (xhr) => xhr.status && (xhr.status < 400 || /^hx-/m.test(xhr.getAllResponseHeaders()));

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!fromFettle(event.detail.xhr)) event.detail.shouldSwap = false;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, successful, xhr } = event.detail;
    const shown = notice.querySelector("[data-lost]");
    if (successful && shown && ("poll" in elt.dataset || elt.matches("form"))) shown.remove();
    if (!fromFettle(xhr) && !shown) notice.append(document.getElementById("lost").content.cloneNode(true));
    if ((!fromFettle(xhr) || xhr.status >= 500) && elt.matches("[hx-trigger$=again]")) {
      setTimeout(() => { if (elt.isConnected) htmx.trigger(elt, "again"); }, AGAIN_MS);
    }
  });
})();

// An answer that never came, or came from something between us, is told of: else a decision that was
// lost on its way looks like one that was taken. What we refuse ourselves says how to show it. What a
// page fetches by itself, such as the changes that are to be judged, it asks for again.
(() => {
  const AGAIN_MS = 2000;
  const notice = document.getElementById("notice");
  const ours = (xhr) => xhr.status && (xhr.status < 400 || /^hx-/m.test(xhr.getAllResponseHeaders()));

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!ours(event.detail.xhr)) event.detail.shouldSwap = false;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, successful, xhr } = event.detail;
    const told = notice.querySelector("[data-lost]");
    if (successful && told && ("poll" in elt.dataset || elt.matches("form"))) told.remove();
    if (!ours(xhr) && !told) notice.append(document.getElementById("lost").content.cloneNode(true));
    if ((!ours(xhr) || xhr.status >= 500) && elt.matches("[hx-trigger$=again]")) {
      setTimeout(() => { if (elt.isConnected) htmx.trigger(elt, "again"); }, AGAIN_MS);
    }
  });
})();

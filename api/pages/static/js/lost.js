// Shows a refusal, also if the region of its form was replaced meanwhile: htmx finds no target then. Shows a
// notice if an answer is missing or not from Fettle (a proxy's error). Otherwise a lost decision would look
// like an applied decision. Fettle's own refusals have a header of htmx. Parts that a page loads by itself,
// such as the changes of a review, are requested again.
(() => {
  const AGAIN_MS = 2000;
  const notice = document.getElementById("notice");
  const fromFettle = (xhr) => xhr.status && (xhr.status < 400 || /^hx-/m.test(xhr.getAllResponseHeaders()));

  document.addEventListener("htmx:beforeSend", (event) => {
    const { elt, xhr } = event.detail;
    xhr.addEventListener("loadend", () => {
      const lostNotice = notice.querySelector("[data-lost]");
      if (fromFettle(xhr) && xhr.status >= 400) htmx.swap(notice, xhr.responseText, { swapStyle: "innerHTML" });
      else if (fromFettle(xhr) && lostNotice && ("poll" in elt.dataset || elt.matches("form"))) lostNotice.remove();
      else if (!fromFettle(xhr) && !lostNotice) notice.append(document.getElementById("lost").content.cloneNode(true));
      if ((!fromFettle(xhr) || xhr.status >= 500) && elt.matches("[hx-trigger$=again]")) {
        setTimeout(() => { if (elt.isConnected) htmx.trigger(elt, "again"); }, AGAIN_MS);
      }
    });
  });
})();

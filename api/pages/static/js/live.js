// The stream of a job's page. It goes on from the last event that is shown, however it broke off,
// and a region that has not changed is left alone: somebody may be typing in it.
(() => {
  const last = () => {
    const item = document.querySelector("#timeline > li.event:last-of-type");
    return item ? item.dataset.seq : "0";
  };

  htmx.createEventSource = (url) => {
    const address = new URL(url, location.href);
    address.searchParams.set("after", last());
    return new EventSource(address, { withCredentials: true });
  };

  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    const region = event.target.querySelector(":scope > [data-digest]");
    if (region && event.detail.data.includes(`data-digest="${region.dataset.digest}"`)) {
      event.preventDefault();
    }
  });

  document.addEventListener("htmx:sseMessage", (event) => {
    if (event.target.id === "timeline") document.getElementById("streamed").textContent = "";
  });

  const say = (broken) => {
    const state = document.getElementById("link-state");
    if (state) state.hidden = !broken;
  };
  document.addEventListener("htmx:sseError", () => say(true));
  document.addEventListener("htmx:sseOpen", () => say(false));
  document.addEventListener("htmx:sseClose", () => say(false));
})();

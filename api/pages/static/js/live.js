// The stream of a job's page. It goes on from the last event that is shown, however it broke off.
(() => {
  const last = () => {
    const item = document.querySelector("#timeline > li.event:last-of-type");
    return item ? item.dataset.seq : "0";
  };

  // What models say while they speak: a block for each call, until the call's own event comes.
  const MOST = 20000;
  const block = (call, role) => {
    const box = document.getElementById("streamed");
    let found = [...box.children].find((each) => each.dataset.call === call);
    if (!found) {
      found = document.createElement("div");
      found.dataset.call = call;
      const name = document.createElement("strong");
      name.textContent = `${role} `;
      found.append(name);
      box.append(found);
    }
    return found;
  };

  const speak = ({ call, role, part, text, try: attempt }) => {
    const place = block(call, role);
    if (place.dataset.attempt !== String(attempt)) {
      place.dataset.attempt = attempt;
      while (place.children.length > 1) place.lastChild.remove();
    }
    let last = place.lastElementChild;
    if (last.className !== `said-${part}`) {
      last = document.createElement("span");
      last.className = `said-${part}`;
      place.append(last);
    }
    last.textContent = (last.textContent + text).slice(-MOST);
    place.parentElement.scrollTop = place.parentElement.scrollHeight;
  };

  const spoken = (html) => {
    for (const each of [...document.getElementById("streamed").children]) {
      if (html.includes(`data-call="${each.dataset.call}"`)) each.remove();
    }
  };

  htmx.createEventSource = (url) => {
    const address = new URL(url, location.href);
    address.searchParams.set("after", last());
    const source = new EventSource(address, { withCredentials: true });
    source.addEventListener("tokens", (event) => speak(JSON.parse(event.data)));
    return source;
  };

  document.addEventListener("htmx:sseMessage", (event) => {
    if (event.target.id === "timeline") spoken(event.detail.data);
  });

  const say = (broken) => {
    const state = document.getElementById("link-state");
    if (state) state.hidden = !broken;
  };
  // A session that has ended refuses the stream for good: then the page leads to the sign-in form.
  const leaveIfSignedOut = async () => {
    const answer = await fetch("/app/jobs/list", { headers: { "HX-Request": "true" } }).catch(() => null);
    if (answer && answer.status === 401) location.reload();
  };
  document.addEventListener("htmx:sseError", (event) => {
    say(true);
    if (event.detail.source.readyState === EventSource.CLOSED) leaveIfSignedOut();
  });
  document.addEventListener("htmx:sseOpen", () => say(false));
  document.addEventListener("htmx:sseClose", () => {
    say(false);
    const box = document.getElementById("streamed");
    if (box) box.replaceChildren();
  });
})();

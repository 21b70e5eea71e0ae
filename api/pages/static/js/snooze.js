// The inbox: hides a review until a time that a person chooses, and shows a notification of the browser for
// each new review, if a person has asked for it. Both are kept in this browser.
(() => {
  const [KEY, NOTIFY] = [`fettle-snoozed:${document.body.dataset.visitor}`, "fettle-notify"];
  const button = document.getElementById("notify");
  const UNDO_MS = 5000;
  let known = null;
  let undo = null; // the review that was snoozed last, for UNDO_MS

  const read = () => {
    const until = JSON.parse(localStorage.getItem(KEY) || "{}");
    return Object.fromEntries(Object.entries(until).filter(([, time]) => time > Date.now()));
  };
  const notifies = () => localStorage.getItem(NOTIFY) === "on";
  const announce = (fresh) => {
    const title = fresh.length === 1 ? "A review waits for you" : `${fresh.length} reviews wait for you`;
    const body = fresh[0].querySelector(".row-title").textContent;
    new Notification(title, { body, tag: "fettle-inbox" }).onclick = () => window.focus();
  };
  const apply = () => {
    const notice = document.getElementById("snoozed");
    if (!notice) return;
    const until = read();
    const rows = [...document.querySelectorAll("#inbox [data-review]")];
    for (const row of rows) {
      row.hidden = row.dataset.review in until;
      row.querySelector(".snooze").hidden = false;
    }
    const visible = rows.filter((row) => !row.hidden);
    notice.hidden = visible.length === rows.length;
    notice.querySelector("span").textContent = `Snoozed: ${rows.length - visible.length}.`;
    notice.querySelector("[data-undo]").hidden = !undo;
    const fresh = visible.filter((row) => known && !known.has(row.dataset.review));
    if (fresh.length && document.hidden && notifies()) announce(fresh);
    known = new Set(visible.map((row) => row.dataset.review));
    button.hidden = !("Notification" in window);
    button.setAttribute("aria-pressed", String(notifies()));
  };

  document.addEventListener("click", async ({ target }) => {
    const row = target.matches("[data-snooze]") && target.closest("[data-review]");
    const until = new Date();
    if (target === button) {
      const isOn = !notifies() && await Notification.requestPermission() === "granted";
      localStorage.setItem(NOTIFY, isOn ? "on" : "off");
    } else if (row) {
      if (target.dataset.snooze === "tomorrow") until.setHours(24 + 9, 0, 0, 0);
      else until.setHours(until.getHours() + 1);
      const review = undo = row.dataset.review;
      setTimeout(() => { if (undo === review) undo = null; apply(); }, UNDO_MS);
      localStorage.setItem(KEY, JSON.stringify({ ...read(), [review]: until.getTime() }));
    } else if (target.matches("#snoozed [data-undo]")) {
      const { [undo]: _, ...others } = read();
      undo = null;
      localStorage.setItem(KEY, JSON.stringify(others));
    } else if (target.matches("#snoozed button")) localStorage.removeItem(KEY);
    else return;
    apply();
  });
  document.addEventListener("htmx:afterSwap", apply);
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.path.endsWith("/review")) detail.parameters.snoozed = Object.keys(read()).join(" ");
  });
  apply();
})();

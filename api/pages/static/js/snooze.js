// The inbox: hides a review until a time that a person chooses, and shows a notification of the browser for
// each new review, if a person has asked for it. Both are kept in this browser.
(() => {
  const KEY = `fettle-snoozed:${document.body.dataset.visitor}`;
  const NOTIFY = "fettle-notify";
  const HOUR_MS = 3600000;
  const rows = () => [...document.querySelectorAll("#inbox [data-review]")];
  let known = null;

  const read = () => {
    const until = JSON.parse(localStorage.getItem(KEY) || "{}");
    return Object.fromEntries(Object.entries(until).filter(([, time]) => time > Date.now()));
  };
  const snooze = (review, time) => localStorage.setItem(KEY, JSON.stringify({ ...read(), [review]: time }));
  const tomorrow = () => {
    const time = new Date();
    time.setDate(time.getDate() + 1);
    return time.setHours(9, 0, 0, 0);
  };

  const announce = (fresh) => {
    if (!fresh.length || !document.hidden || localStorage.getItem(NOTIFY) !== "on") return;
    const title = fresh.length === 1 ? "A review waits for you" : `${fresh.length} reviews wait for you`;
    const body = fresh[0].querySelector(".row-title").textContent;
    new Notification(title, { body, tag: "fettle-inbox" }).onclick = () => window.focus();
  };
  const apply = () => {
    const until = read();
    for (const row of rows()) {
      row.hidden = row.dataset.review in until;
      row.querySelector(".snooze").hidden = false;
    }
    const count = rows().filter((row) => row.hidden).length;
    const notice = document.getElementById("snoozed");
    if (notice) {
      notice.hidden = !count;
      notice.querySelector("span").textContent = count === 1 ? "1 review is snoozed." : `${count} reviews are snoozed.`;
    }
    const visible = rows().filter((row) => !row.hidden);
    if (known) announce(visible.filter((row) => !known.has(row.dataset.review)));
    if (document.getElementById("inbox")) known = new Set(visible.map((row) => row.dataset.review));
  };

  const button = document.getElementById("notify");
  const showSwitch = () => button.setAttribute("aria-pressed", String(localStorage.getItem(NOTIFY) === "on"));
  const toggleNotices = async () => {
    const isOn = localStorage.getItem(NOTIFY) === "on";
    const isGranted = !isOn && await Notification.requestPermission() === "granted";
    localStorage.setItem(NOTIFY, isGranted ? "on" : "off");
    showSwitch();
  };
  if (button && "Notification" in window) {
    button.hidden = false;
    button.addEventListener("click", toggleNotices);
    showSwitch();
  }

  document.addEventListener("click", ({ target }) => {
    const { snooze: time } = target.dataset || {};
    if (time) snooze(target.closest("[data-review]").dataset.review, time === "hour" ? Date.now() + HOUR_MS : tomorrow());
    if (time || target.matches("#snoozed button")) {
      if (!time) localStorage.removeItem(KEY);
      apply();
    }
  });
  document.addEventListener("htmx:afterSwap", apply);
  document.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.path.endsWith("/review")) detail.parameters.snoozed = Object.keys(read()).join(" ");
  });
  apply();
})();

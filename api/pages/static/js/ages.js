// Relative times, updated in the browser. The server sends absolute times, so that an unchanged
// list is the same HTML a minute later.
(() => {
  const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["h", 3600], ["min", 60]];

  const seconds = (element) => Math.max(0, (Date.now() - Date.parse(element.dateTime)) / 1000);

  const ago = (past) => {
    for (const [unit, length] of UNITS) {
      const count = Math.floor(past / length);
      if (count) return `${count} ${unit}${count > 1 && length > 3600 ? "s" : ""} ago`;
    }
    return past < 5 ? "just now" : `${Math.floor(past)} s ago`;
  };

  const lasts = (past) => {
    const [days, hours, minutes] = [86400, 3600, 60].map((length) => Math.floor(past / length));
    if (days) return `for ${days} ${days === 1 ? "day" : "days"} ${hours - days * 24} h`;
    if (hours) return `for ${hours} h ${minutes - hours * 60} min`;
    return minutes ? `for ${minutes} min ${Math.floor(past - minutes * 60)} s` : `for ${Math.floor(past)} s`;
  };

  const update = (root) => {
    for (const element of root.querySelectorAll("time[data-ago], time[data-lasts]")) {
      const text = "ago" in element.dataset ? ago(seconds(element)) : lasts(seconds(element));
      if (element.textContent !== text) element.textContent = text;
    }
  };

  update(document);
  setInterval(() => document.hidden || update(document), 1000);
  document.addEventListener("htmx:afterSwap", () => update(document));
  document.addEventListener("visibilitychange", () => update(document));
})();

// Copy buttons, notices, menus and polling.
(() => {
  const writeClipboard = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea"); // without https there is no clipboard API
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };

  // The text that a button copies: its own text, the text of its block, or the complete text of a block
  // that is cut.
  const textOf = async (button) => {
    const { copy, copyWhole } = button.dataset;
    if (copy) return copy;
    if (!copyWhole) return button.closest(".block, .curl").querySelector("pre").textContent;
    const answer = await fetch(copyWhole, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.text();
  };

  const copy = async (button) => {
    button.dataset.label = button.dataset.label || button.textContent;
    try {
      await writeClipboard(await textOf(button));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
    if (!button) return;
    if (button.classList.contains("copy")) copy(button);
    if ("dismiss" in button.dataset) button.closest(".notice").remove();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // The list of jobs polls; in a hidden tab only as often as its title needs.
  const HIDDEN_MS = 20000;
  let polledAt = 0;
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt } = event.detail;
    if (!("poll" in elt.dataset)) return;
    const isSelected = elt.querySelector(".pick:checked") !== null; // a new list would forget the selection
    if (isSelected || (document.hidden && Date.now() - polledAt < HIDDEN_MS)) event.preventDefault();
    else polledAt = Date.now();
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const { elt, parameters } = event.detail;
    if ("known" in elt.dataset) parameters.known = elt.dataset.known;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, xhr } = event.detail;
    const mark = xhr && xhr.getResponseHeader("X-Known");
    if (mark) elt.dataset.known = mark;
  });
})();

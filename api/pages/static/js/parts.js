// Small things: copying, dismissing, dialogs, looking away.
(() => {
  const copied = async (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea"); // without https there is no clipboard to ask
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  };

  const copy = async (button) => {
    const source = button.dataset.copyFrom;
    const text = source ? document.getElementById(source).textContent : button.dataset.copy;
    await copied(text);
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1500);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
    if (!button) return;
    if ("copy" in button.dataset || "copyFrom" in button.dataset) copy(button);
    if ("dismiss" in button.dataset) button.closest(".notice").remove();
    if (button.dataset.opens) document.getElementById(button.dataset.opens).showModal();
    if ("closes" in button.dataset) button.closest("dialog").close();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  // A page that nobody looks at asks for nothing.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && "poll" in event.detail.elt.dataset) event.preventDefault();
  });
})();

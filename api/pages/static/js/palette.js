// The command palette (Ctrl+K, or ⌘K): the pages, the actions of this page, and jobs by their words.
(() => {
  const TARGETS = ".bar nav a, .menu-body a, .sections a, .act > summary, main .button[href]";
  const MOST = 12;
  const WAIT_MS = 200;
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const [input, list] = [dialog.querySelector("input"), dialog.querySelector("ul")];
  let timer;

  const textOf = (target) => (target.querySelector(".act-label") || target).textContent.trim().replace(/\s+/g, " ");
  const matches = (text) => {
    const words = input.value.toLowerCase().split(/\s+/);
    return words.every((word) => text.toLowerCase().includes(word));
  };
  const options = () => [...list.children];
  const choose = (option) => {
    for (const other of options()) other.setAttribute("aria-selected", String(other === option));
    input.setAttribute("aria-activedescendant", option ? option.id : "");
    if (option) option.scrollIntoView({ block: "nearest" });
  };
  const add = (text, target) => {
    if (list.children.length >= MOST) return;
    const option = document.createElement("li");
    Object.assign(option, { role: "option", id: `palette-${list.children.length}`, textContent: text, target });
    list.append(option);
    if (list.children.length === 1) choose(option);
  };
  const run = ({ target }) => {
    dialog.close();
    if (target.matches("summary")) target.parentElement.open = true;
    else location.assign(target.href);
  };

  const addJobs = async (words) => {
    const address = `/app/jobs/list?${new URLSearchParams({ text: words })}`;
    const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer || !answer.ok || words !== input.value.trim()) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const link of page.querySelectorAll(".row-title")) add(textOf(link), link);
  };
  const update = () => {
    list.replaceChildren();
    choose();
    for (const target of document.querySelectorAll(TARGETS)) {
      if (matches(textOf(target))) add(textOf(target), target);
    }
    clearTimeout(timer);
    const words = input.value.trim();
    if (words) timer = setTimeout(() => addJobs(words), WAIT_MS);
  };
  const open = () => {
    input.value = "";
    if (!dialog.open) dialog.showModal();
    update();
  };

  input.addEventListener("input", update);
  list.addEventListener("click", (event) => { if (event.target.matches("li")) run(event.target); });
  document.addEventListener("click", (event) => { if (event.target.closest("[data-palette]")) open(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      open();
    } else if (dialog.open && options().length) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const chosen = options().findIndex((option) => option.ariaSelected === "true");
      if (step) choose(options().at((chosen + step) % options().length));
      else if (event.key === "Enter") run(options()[chosen]);
      if (step || event.key === "Enter") event.preventDefault();
    }
  });
})();

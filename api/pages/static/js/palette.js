// Ctrl+K (or ⌘K) finds a page, an action of this page, or a job by its words. The browser lists the matches;
// Enter opens the text of the field, or the first match.
(() => {
  const TARGETS = ".bar nav a, .menu-body a, .sections a, .act > summary, main .button[href]";
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const [input, list] = [dialog.querySelector("input"), dialog.querySelector("datalist")];
  const targets = new Map(); // by their text

  const add = (target) => {
    const label = (target.querySelector(".act-label") || target).textContent.trim().replace(/\s+/g, " ");
    const text = target.matches(".row-title") ? `${label} · ${target.id.slice(4)}` : label;
    if (!targets.has(text)) list.append(new Option(text, text));
    targets.set(text, target);
  };
  const find = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    const match = ([text]) => words.every((word) => text.toLowerCase().includes(word));
    return targets.get(input.value) || ([...targets].find(match) || [])[1];
  };
  const addJobs = async () => {
    const address = `/app/jobs/list?${new URLSearchParams({ text: input.value })}`;
    const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer || !answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    page.querySelectorAll(".row-title").forEach(add);
  };
  const open = () => {
    targets.clear();
    list.replaceChildren();
    document.querySelectorAll(TARGETS).forEach(add);
    input.value = "";
    if (!dialog.open) dialog.showModal();
  };

  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    if (input.value.trim()) timer = setTimeout(addJobs, 200);
  });
  dialog.querySelector("form").addEventListener("submit", async () => {
    if (!find()) await addJobs();
    const target = find();
    if (!target) return;
    if (target.matches("summary")) target.parentElement.open = true;
    else location.assign(target.href);
  });
  document.addEventListener("click", (event) => { if (event.target.closest("[data-palette]")) open(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    open();
  });
})();

// The files of a patch: a filter, and marks for viewed files. A mark belongs to a job, a path and a
// change, so it survives the next revision if the file's change is the same. This browser stores the
// marks of a job as one object: path -> digest of the viewed change.
(() => {
  const PREFIX = "fettle-viewed:";
  const keyOf = (patch) => `${PREFIX}${document.body.dataset.visitor}:${patch.dataset.job}`;
  const load = (patch) => {
    try {
      return JSON.parse(localStorage.getItem(keyOf(patch))) || {};
    } catch {
      return {};
    }
  };
  const isViewed = (file, marks) => file.dataset.change !== "" && marks[file.dataset.path] === file.dataset.change;

  const count = (patch) => {
    const files = patch.querySelectorAll("details.change");
    const viewed = patch.querySelectorAll("details.change.viewed").length;
    patch.querySelector("[data-viewed]").textContent = viewed ? `${viewed} of ${files.length} viewed` : "";
  };
  const entryOf = (file) =>
    file.closest(".patch").querySelector(`[data-file="${file.id.replace("change-", "")}"]`);
  const show = (file, viewed) => {
    file.classList.toggle("viewed", viewed);
    file.querySelector(".viewed-mark input").checked = viewed;
    const entry = entryOf(file);
    if (entry) entry.classList.toggle("viewed", viewed);
  };

  const addMark = (file) => {
    const label = document.createElement("label");
    label.className = "viewed-mark check small";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `Viewed: ${file.dataset.path}`);
    label.append(box, "Viewed");
    file.querySelector("summary").after(label);
  };

  const prepare = (patch) => {
    if (patch.dataset.prepared) return;
    patch.dataset.prepared = "1";
    const marks = load(patch);
    for (const file of patch.querySelectorAll("details.change:not([data-change=''])")) {
      addMark(file);
      if (isViewed(file, marks)) {
        show(file, true);
        file.open = false;
      }
    }
    count(patch);
    const filter = patch.querySelector(".patch-filter");
    if (filter) filter.hidden = patch.querySelectorAll("details.change").length < 2;
  };

  document.addEventListener("change", (event) => {
    if (!event.target.matches(".viewed-mark input")) return;
    const file = event.target.closest("details.change");
    const patch = file.closest(".patch");
    const marks = load(patch);
    if (event.target.checked) marks[file.dataset.path] = file.dataset.change;
    else delete marks[file.dataset.path];
    localStorage.setItem(keyOf(patch), JSON.stringify(marks));
    show(file, event.target.checked);
    count(patch);
    if (!event.target.checked) return;
    file.open = false;
    file.querySelector("summary").focus();
  });

  document.addEventListener("input", (event) => {
    if (!event.target.matches(".patch-filter")) return;
    const patch = event.target.closest(".patch");
    const words = event.target.value.toLowerCase().split(/\s+/);
    for (const file of patch.querySelectorAll("details.change")) {
      const hidden = !words.every((word) => file.dataset.path.toLowerCase().includes(word));
      file.hidden = hidden;
      const entry = entryOf(file);
      if (entry) entry.hidden = hidden;
    }
    for (const folder of [...patch.querySelectorAll(".patch-tree li:not([data-file])")].reverse()) {
      folder.hidden = !folder.querySelector("li[data-file]:not([hidden])");
    }
  });

  // A link to a file opens it, also if it is folded.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('.patch a[href^="#change-"]');
    const file = link && document.getElementById(link.hash.slice(1));
    if (file) file.open = true;
  });

  const prepareAll = () => document.querySelectorAll(".patch").forEach(prepare);
  document.addEventListener("htmx:afterSwap", prepareAll);
  // Signing out deletes the marks, as the drafts.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.requestConfig.path !== "/app/sign-out") return;
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  });
  prepareAll();
})();

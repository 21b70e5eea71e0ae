// The form of a new job: examples, files, the keyboard, and errors at their fields.
(() => {
  const form = document.getElementById("new-job");
  if (!form) return;
  const task = form.elements.namedItem("task");
  const files = document.getElementById("files");
  const drop = form.querySelector("[data-drop]");

  form.addEventListener("click", (event) => {
    const example = event.target.closest("[data-example]");
    if (!example) return;
    task.value = example.dataset.example;
    task.dispatchEvent(new Event("input", { bubbles: true }));
    const model = form.elements.namedItem("model");
    model.value = example.dataset.model;
    if (model.selectedIndex < 0) model.value = ""; // no worker offers it
    task.focus();
  });

  const list = () => {
    const rows = [...files.files].map((file) => {
      const row = document.createElement("li");
      row.textContent = `${file.name}, ${file.size.toLocaleString("en")} bytes`;
      return row;
    });
    document.getElementById("files-chosen").replaceChildren(...rows);
  };
  files.addEventListener("change", list);

  for (const kind of ["dragenter", "dragover"]) {
    drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("is-over"); });
  }
  for (const kind of ["dragleave", "drop"]) {
    drop.addEventListener(kind, () => drop.classList.remove("is-over"));
  }
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    const transfer = new DataTransfer();
    for (const file of [...files.files, ...event.dataTransfer.files]) transfer.items.add(file);
    files.files = transfer.files;
    list();
  });

  task.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });

  // Marks fields with errors, and focuses the first. lost.js puts the errors of a refusal into the page.
  document.getElementById("notice").addEventListener("htmx:afterSwap", () => {
    let first = null;
    for (const error of form.querySelectorAll(".wrong")) {
      const field = error.closest(".field");
      if (!field) continue;
      const input = field.querySelector("input, textarea, select");
      field.classList.toggle("is-wrong", error.textContent !== "");
      if (error.textContent === "") input.removeAttribute("aria-invalid");
      else { input.setAttribute("aria-invalid", "true"); first = first || input; }
    }
    if (!first) return;
    const folded = first.closest("details");
    if (folded) folded.open = true;
    first.focus();
  });
})();

// Comments on lines of a patch. The form's field has all comments, one on each line as PATH:LINE: TEXT.
// This script shows them at their lines. A click on a line's number opens a box for a new comment, and
// so do the arrow keys and Enter in the lines of a file.
(() => {
  const LINES = ".numbered > :is(.d-added, .d-removed, .d-same)";
  const WRITTEN = /^(\S.*?):(-?)([1-9]\d*):([^]*)$/;

  const FENCE = "```suggestion";
  // A line that is cut, or has spelled-out characters, is not the text of the file. Its file may end lines with \r\n.
  const UNLIKE_FILE = / … [\d,]+ more characters$|\\(?:x[\da-f]{2}|u[\da-f]{4}|U[\da-f]{8})/;
  const textOf = (line) => line.textContent.slice(1).replace(/\\x0d$/, "");

  const field = () => document.querySelector("textarea[name=comments]");
  const locationText = (path, old, line) => `${path}:${old ? "-" : ""}${line}`;
  const locationOf = (line) => {
    const old = line.matches(".d-removed, .left");
    const numbers = line.dataset.n.match(/\d+/g);
    return locationText(line.closest("[data-path]").dataset.path, old, numbers[old ? 0 : numbers.length - 1]);
  };

  // The comments with their locations. A line that is no comment yet, because a person types it, has no
  // location, and is not changed.
  const read = () => {
    const comments = [];
    for (const line of (field()?.value ?? "").split("\n")) {
      const match = line.match(WRITTEN);
      if (/^\s/.test(line) && comments.length) comments.at(-1).text += `\n${line.replace(/^ {1,2}/, "")}`;
      else if (match) comments.push({ at: locationText(match[1], match[2], match[3]), text: match[4].trim() });
      else if (line.trim()) comments.push({ at: "", text: line });
    }
    return comments;
  };
  const write = (comments) => {
    const lines = comments.map(({ at, text }) => (at ? `${at}: ${text.trim().replaceAll("\n", "\n  ")}` : text));
    field().value = lines.map((line) => `${line}\n`).join("");
    field().dispatchEvent(new Event("input", { bubbles: true }));
  };
  const set = (at, text) => {
    const otherComments = read().filter((comment) => comment.at !== at);
    write(text.trim() ? [...otherComments, { at, text }] : otherComments);
  };

  const focus = (line) => {
    line.tabIndex = -1;
    line.focus();
  };
  // In two columns, the line after the change is to the right of the line before the change.
  const below = (line) => (line.matches(".left") ? line.nextElementSibling : line);

  const createElement = (tag, className, text = "") => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const button = (text, action, className = "button") => {
    const element = createElement("button", className, text);
    element.type = "button";
    element.addEventListener("click", action);
    return element;
  };

  const show = () => {
    if (!field()) return;
    document.querySelectorAll("#how-to-comment").forEach((help) => { help.hidden = false; });
    document.querySelectorAll(".remark.draft").forEach((remark) => remark.remove());
    const comments = read().filter((comment) => comment.at);
    const suggests = comments.some(({ text }) => text.includes(FENCE));
    document.querySelectorAll("[data-apply]").forEach((apply) => { apply.hidden = !suggests; });
    const count = comments.length ? ` (${comments.length} comment${comments.length > 1 ? "s" : ""})` : "";
    document.querySelectorAll("[data-comments]").forEach((label) => { label.textContent = count; });
    for (const remark of document.querySelectorAll(".remark.open:not(:has(button))")) {
      let line = remark.previousElementSibling;
      while (line && !line.matches(LINES)) line = line.previousElementSibling;
      const text = remark.lastChild.textContent.trim();
      const use = () => set(locationOf(line), text);
      if (line && text.includes(FENCE)) remark.firstElementChild.append(" ", button("Use this suggestion", use, "plain small"));
    }
    if (!comments.length) return;
    const lines = new Map([...document.querySelectorAll(LINES)].map((line) => [locationOf(line), line]));
    for (const { at, text } of comments) {
      const line = lines.get(at);
      if (!line) continue;
      const remove = () => {
        set(at, "");
        focus(line);
      };
      const note = createElement("span", "remark draft");
      const head = createElement("span", "remark-by", "Your comment, not sent yet ");
      head.append(button("Change", () => open(line), "plain small"), button("Remove", remove, "plain small"));
      note.setAttribute("role", "note");
      note.append(head, `\n${text}`);
      below(line).after(note);
    }
  };

  const open = (line) => {
    const at = locationOf(line);
    document.querySelectorAll(".remark.writing").forEach((remark) => remark.remove());
    const box = createElement("span", "remark writing");
    const text = createElement("textarea", "");
    text.rows = 3;
    text.maxLength = 2000;
    text.setAttribute("aria-label", `Comment on ${at}`);
    text.value = read().find((comment) => comment.at === at)?.text ?? "";
    const close = () => {
      box.remove();
      focus(line);
    };
    const save = () => {
      close();
      set(at, text.value);
    };
    const buttons = createElement("span", "buttons");
    const suggest = () => {
      const ticks = "`".repeat(Math.max(3, ...(textOf(line).match(/`+/g) ?? []).map((run) => run.length + 1)));
      text.value = `${text.value}\n${ticks}suggestion\n${textOf(line)}\n${ticks}`.trimStart();
      text.rows = text.value.split("\n").length + 1;
      text.focus();
    };
    buttons.append(button("Add the comment", save, "button primary"), button("Back", close));
    const isCurrent = !line.matches(".d-removed, .left");
    if (isCurrent && !UNLIKE_FILE.test(textOf(line))) buttons.append(button("Suggest a change", suggest));
    box.append(text, buttons);
    below(line).after(box);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
      event.stopPropagation();
    });
    text.focus();
  };

  document.addEventListener("click", (event) => {
    const line = field() && event.target.closest(LINES);
    if (!line) return;
    const range = document.createRange();
    range.selectNodeContents(line);
    if (event.clientX < range.getBoundingClientRect().left) open(line);
  });

  const step = { ArrowDown: 1, ArrowUp: -1 };
  document.addEventListener("keydown", (event) => {
    const block = event.target.closest(".numbered");
    if (!block || !field() || event.ctrlKey || event.metaKey || event.altKey) return;
    const line = event.target.closest(LINES);
    if (event.key === "Enter" && line) open(line);
    else if (event.key in step) {
      const lines = [...block.querySelectorAll(`:scope > :is(.d-added, .d-removed, .d-same)`)];
      const next = line ? lines[lines.indexOf(line) + step[event.key]] : lines[0];
      if (next) focus(next);
    } else return;
    event.preventDefault();
  });

  document.addEventListener("input", (event) => { if (event.target === field()) show(); });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.querySelector(".patch, textarea[name=comments]")) show();
  });
  show();
})();

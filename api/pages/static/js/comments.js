// Comments on lines of a patch. The form's field has them all, one a line as PATH:LINE: TEXT; this
// shows them at their lines, and writes them: a click on a line's number, or the arrow keys in a
// file's lines and Enter, open a box for one.
(() => {
  const LINES = ".numbered > :is(.d-added, .d-removed, .d-same)";
  const WRITTEN = /^(\S.*?):(-?)([1-9]\d*):([^]*)$/;

  const field = () => document.querySelector("textarea[name=comments]");
  const place = (path, old, line) => `${path}:${old ? "-" : ""}${line}`;
  const placeOf = (line) => {
    const old = line.matches(".d-removed, .left");
    const numbers = line.dataset.n.match(/\d+/g);
    return place(line.closest("[data-path]").dataset.path, old, numbers[old ? 0 : numbers.length - 1]);
  };

  // The comments by place. What is not one yet, since a person types it, stays as it is.
  const read = () => {
    const found = [];
    for (const line of (field()?.value ?? "").split("\n")) {
      const begun = line.match(WRITTEN);
      if (/^\s/.test(line) && found.length) found.at(-1).text += `\n${line.trim()}`;
      else if (begun) found.push({ at: place(begun[1], begun[2], begun[3]), text: begun[4].trim() });
      else if (line.trim()) found.push({ at: "", text: line });
    }
    return found;
  };
  const write = (comments) => {
    const lines = comments.map(({ at, text }) => (at ? `${at}: ${text.trim().replaceAll("\n", "\n  ")}` : text));
    field().value = lines.map((each) => `${each}\n`).join("");
    field().dispatchEvent(new Event("input", { bubbles: true }));
  };
  const set = (at, text) => {
    const others = read().filter((each) => each.at !== at);
    write(text.trim() ? [...others, { at, text }] : others);
  };

  const focus = (line) => {
    line.tabIndex = -1;
    line.focus();
  };
  // Beside each other, a line before the change has the one after it at its right.
  const below = (line) => (line.matches(".left") ? line.nextElementSibling : line);

  const made = (tag, className, text = "") => {
    const element = document.createElement(tag);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const button = (text, action, className = "button") => {
    const element = made("button", className, text);
    element.type = "button";
    element.addEventListener("click", action);
    return element;
  };

  const show = () => {
    if (!field()) return;
    document.querySelectorAll("#how-to-comment").forEach((each) => { each.hidden = false; });
    document.querySelectorAll(".remark.draft").forEach((each) => each.remove());
    const comments = read().filter((each) => each.at);
    const count = comments.length ? ` (${comments.length} comment${comments.length > 1 ? "s" : ""})` : "";
    document.querySelectorAll("[data-comments]").forEach((each) => { each.textContent = count; });
    if (!comments.length) return;
    const lines = new Map([...document.querySelectorAll(LINES)].map((line) => [placeOf(line), line]));
    for (const { at, text } of comments) {
      const line = lines.get(at);
      if (!line) continue;
      const remove = () => {
        set(at, "");
        focus(line);
      };
      const note = made("span", "remark draft");
      const head = made("span", "remark-by", "Your comment, not sent yet ");
      head.append(button("Change", () => open(line), "plain small"), button("Remove", remove, "plain small"));
      note.setAttribute("role", "note");
      note.append(head, `\n${text}`);
      below(line).after(note);
    }
  };

  const open = (line) => {
    const at = placeOf(line);
    document.querySelectorAll(".remark.writing").forEach((each) => each.remove());
    const box = made("span", "remark writing");
    const text = made("textarea", "");
    text.rows = 3;
    text.maxLength = 2000;
    text.setAttribute("aria-label", `Comment on ${at}`);
    text.value = read().find((each) => each.at === at)?.text ?? "";
    const close = () => {
      box.remove();
      focus(line);
    };
    const keep = () => {
      close();
      set(at, text.value);
    };
    const buttons = made("span", "buttons");
    buttons.append(button("Add the comment", keep, "button primary"), button("Back", close));
    box.append(text, buttons);
    below(line).after(box);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) keep();
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

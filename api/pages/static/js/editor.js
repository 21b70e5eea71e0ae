// CodeMirror in place of the text area of a file. The text area keeps the text, so that the form and the
// drafts work as without scripts. The editor is in a shadow root: only there may it add its styles.
addEventListener("DOMContentLoaded", () => {
  const { Decoration, EditorView, MatchDecorator, ViewPlugin, keymap } = CodeMirror;
  const field = document.querySelector("textarea.code");
  if (!field) return;
  const host = document.createElement("div");
  host.addEventListener("keydown", (event) => event.stopPropagation()); // letters are no commands here
  field.after(host);
  field.hidden = true;

  // Strings, comments, numbers and common keywords of most languages, line by line.
  const words = "and|as|async|await|break|case|class|const|def|elif|else|except|export|for|from|func|function|if"
    + "|import|in|is|lambda|let|new|not|or|raise|return|self|struct|try|type|var|while|with|yield";
  const marks = new MatchDecorator({
    regexp: new RegExp(`("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*')|((?:#|//).*)|(\\b\\d[\\w.]*)|\\b(?:${words})\\b`, "g"),
    decoration: ([, text, note, number]) =>
      Decoration.mark({ class: `c-${text ? "text" : note ? "note" : number ? "number" : "word"}` }),
  });
  const colours = ViewPlugin.define(
    (view) => ({ marks: marks.createDeco(view), update(change) { this.marks = marks.updateDeco(change, this.marks); } }),
    { decorations: (plugin) => plugin.marks },
  );
  const theme = EditorView.theme({
    "&": { color: "var(--text)", backgroundColor: "var(--panel)", border: "1px solid var(--line-strong)", maxHeight: "70vh" },
    ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "0.8125rem", lineHeight: "1.55" },
    ".cm-content": { caretColor: "var(--text)", minHeight: "16rem" },
    ".cm-gutter": { minHeight: "16rem" },
    ...Object.fromEntries(["text", "note", "number", "word"].map((kind) => [`.c-${kind}`, { color: `var(--c-${kind})` }])),
    ".cm-gutters": { color: "var(--quiet)", backgroundColor: "var(--sunk)", border: "0" },
  });
  const commands = [
    ...CodeMirror.historyKeymap,
    { key: "Enter", run: CodeMirror.insertNewlineKeepIndent },
    { key: "Mod-a", run: CodeMirror.selectAll },
    { key: "Mod-Home", mac: "Cmd-ArrowUp", run: CodeMirror.cursorDocStart, shift: CodeMirror.selectDocStart },
    { key: "Mod-End", mac: "Cmd-ArrowDown", run: CodeMirror.cursorDocEnd, shift: CodeMirror.selectDocEnd },
  ];
  const root = host.attachShadow({ mode: "open" });
  new EditorView({
    doc: field.value,
    parent: root,
    root,
    extensions: [
      CodeMirror.lineNumbers(), CodeMirror.highlightSpecialChars(), CodeMirror.history(), keymap.of(commands), colours, theme,
      EditorView.contentAttributes.of({ "aria-label": field.labels[0].textContent }),
      EditorView.updateListener.of((update) => {
        if (!update.docChanged) return;
        field.value = update.state.doc.toString();
        field.dispatchEvent(new Event("input", { bubbles: true }));
      }),
    ],
  }).focus();
});

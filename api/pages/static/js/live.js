// The stream of a job's page. After an interruption it continues from the last shown event.
(() => {
  const last = () => {
    const item = document.querySelector("#timeline > li.event:last-of-type");
    return item ? item.dataset.seq : "0";
  };

  // Output of models and runs: a block for each call or run, until its own event arrives.
  const MOST = 20000;
  const block = (call, role) => {
    const box = document.getElementById("streamed");
    let output = [...box.children].find((child) => child.dataset.call === call);
    if (!output) {
      output = document.createElement("div");
      output.dataset.call = call;
      const name = document.createElement("strong");
      name.textContent = `${role} `;
      output.append(name);
      box.append(output);
    }
    return output;
  };

  // The arguments of a tool arrive as JSON: show the text of each string, such as code, as it will be.
  // A decoder takes each part of the JSON once, and returns the further text.
  const ESCAPES = { n: "\n", t: "\t", r: "", b: "", f: "" };
  const newDecoder = () => {
    let depth = 0;
    let inString = false;
    let escape = ""; // the beginning of an escape in a string
    let gap = ""; // separators between two values
    const unescape = () => (escape[1] === "u" ? String.fromCharCode(parseInt(escape.slice(2), 16)) : ESCAPES[escape[1]] ?? escape[1]);
    const inner = (char) => {
      if (escape || char === "\\") {
        escape += char;
        if (escape.length < (escape[1] === "u" ? 6 : 2)) return "";
        const text = unescape();
        escape = "";
        return text;
      }
      if (char !== '"') return char;
      inString = false;
      return "";
    };
    const outer = (char) => {
      if (/[\s,:]/.test(char)) {
        gap += char;
        return "";
      }
      const separator = gap.includes(":") ? ":\n" : char === '"' && gap.includes(",") ? "\n" : gap;
      gap = "";
      if (char === '"') inString = true;
      else if (char === "{" && ++depth === 1) return "";
      else if (char === "}" && --depth === 0) return "";
      return separator + (inString ? "" : char);
    };
    return (json) => Array.from(json, (char) => (inString ? inner(char) : outer(char))).join("");
  };

  // A run in progress. Each message has its last lines, as HTML. A worker that has died sends no more.
  // The messages are numbered from 1. A run that another worker repeats starts again with number 1.
  const SILENT_MS = 10000;
  const showRun = ({ call, role, command, seconds, html, try: number }) => {
    const output = block(call, role);
    if (!(Number(output.dataset.number) <= number)) {
      output.replaceChildren(output.firstElementChild);
      const [code, time, lines] = ["code", "time", "pre"].map((name) => document.createElement(name));
      code.textContent = command;
      time.dateTime = new Date(Date.now() - seconds * 1000).toISOString();
      time.dataset.lasts = "";
      time.textContent = `for ${Math.floor(seconds)} s`;
      output.append(code, " ", time, lines);
    }
    output.dataset.number = number;
    output.dataset.seenAt = Date.now();
    const lines = output.lastElementChild;
    lines.innerHTML = html;
    lines.scrollTop = lines.scrollHeight;  // the command above the lines stays in sight
    output.parentElement.scrollTop = output.parentElement.scrollHeight;
  };
  setInterval(() => {
    for (const output of document.querySelectorAll("#streamed > [data-seen-at]")) {
      if (Date.now() - output.dataset.seenAt > SILENT_MS) output.remove();
    }
  }, 1000);

  const append = ({ call, role, part, text, try: attempt }) => {
    const output = block(call, role);
    if (output.dataset.attempt !== String(attempt)) {
      output.dataset.attempt = attempt;
      while (output.children.length > 1) output.lastChild.remove();
    }
    let last = output.lastElementChild;
    if (last.className !== `said-${part}`) {
      last = document.createElement("span");
      last.className = `said-${part}`;
      last.decode = part === "tool" ? newDecoder() : (further) => further;
      output.append(last);
    }
    last.textContent = (last.textContent + last.decode(text)).slice(-MOST);
    output.parentElement.scrollTop = output.parentElement.scrollHeight;
  };

  const removeFinished = (html) => {
    for (const output of [...document.getElementById("streamed").children]) {
      if (html.includes(`data-call="${output.dataset.call}"`)) output.remove();
    }
  };

  htmx.createEventSource = (url) => {
    const address = new URL(url, location.href);
    address.searchParams.set("after", last());
    const source = new EventSource(address, { withCredentials: true });
    source.addEventListener("tokens", (event) => {
      const tokens = JSON.parse(event.data);
      (tokens.part === "output" ? showRun : append)(tokens);
    });
    return source;
  };

  document.addEventListener("htmx:sseMessage", (event) => {
    if (event.target.id === "timeline") removeFinished(event.detail.data);
  });

  const showState = (broken) => {
    const state = document.getElementById("link-state");
    if (state) state.hidden = !broken;
  };
  // After the session's end the stream is refused: the page then leads to the sign-in form.
  const leaveIfSignedOut = async () => {
    const answer = await fetch("/app/jobs/list", { headers: { "HX-Request": "true" } }).catch(() => null);
    if (answer && answer.status === 401) location.reload();
  };
  document.addEventListener("htmx:sseError", (event) => {
    showState(true);
    if (event.detail.source.readyState === EventSource.CLOSED) leaveIfSignedOut();
  });
  document.addEventListener("htmx:sseOpen", () => showState(false));
  document.addEventListener("htmx:sseClose", () => {
    showState(false);
    const box = document.getElementById("streamed");
    if (box) box.replaceChildren();
  });
})();

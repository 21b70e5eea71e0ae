// Shows one section of a job's page at a time. Without this script the sections follow each other.
// A link into a section opens the section. Until a person chooses, the strip names the open section.
// Also measures the strip, so that the target of a link is not behind it.
(() => {
  const links = [...document.querySelectorAll(".sections a")];
  if (!links.length) return;
  const strip = document.getElementById("strip");
  const page = document.documentElement;

  const show = (name) => {
    for (const link of links) {
      const section = document.getElementById(link.hash.slice(1));
      section.hidden = section.id !== name;
      link.setAttribute("aria-current", String(section.id === name));
    }
  };
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const section = target && target.closest(".section");
    show(section ? section.id : strip.querySelector(".strip").dataset.section);
    if (section && section !== target) target.scrollIntoView();
    return section;
  };

  page.classList.add("one-section");
  let section = follow();
  addEventListener("hashchange", () => { section = follow(); });
  document.addEventListener("htmx:afterSwap", (event) => { if (event.target === strip && !section) follow(); });
  new ResizeObserver(() => {
    if (!strip.querySelector(".act[open]")) page.style.setProperty("--strip", `${strip.offsetHeight}px`);
  }).observe(strip);
})();

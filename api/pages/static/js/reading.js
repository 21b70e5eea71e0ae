// Keeps the scroll position on the timeline while the regions above it change. Browsers' own scroll
// anchoring may choose an element that is removed, and some browsers have none.
(() => {
  const timeline = document.getElementById("timeline");
  if (!timeline) return;
  const regions = [...document.querySelectorAll(".job .region")];
  const tall = () => regions.reduce((sum, region) => sum + region.offsetHeight, 0);
  let known = tall();
  let held = null; // the event in the middle of the window, and where it stands
  let top = 0;

  const look = () => {
    const place = document.elementFromPoint(timeline.getBoundingClientRect().left + 8, innerHeight / 2);
    held = scrollY > 0 && place ? place.closest("#timeline > li") : null;
    if (held) top = held.getBoundingClientRect().top;
  };

  addEventListener("scroll", () => { if (tall() === known) look(); }, { passive: true });

  const seen = new ResizeObserver(() => {
    const moved = held && held.isConnected ? held.getBoundingClientRect().top - top : 0;
    if (tall() !== known && Math.abs(moved) > 1) scrollBy({ top: moved, behavior: "instant" });
    known = tall();
    look();
  });
  for (const part of [...regions, timeline]) seen.observe(part);
})();

// Keeps the scroll position on the timeline while the regions above it change. Browsers' own scroll
// anchoring may choose an element that is removed, and some browsers have none.
(() => {
  const timeline = document.getElementById("timeline");
  if (!timeline) return;
  const regions = [...document.querySelectorAll(".job .region")];
  const regionsHeight = () => regions.reduce((sum, region) => sum + region.offsetHeight, 0);
  let lastHeight = regionsHeight();
  let anchor = null; // the event in the middle of the window
  let top = 0; // its position

  const chooseAnchor = () => {
    const element = document.elementFromPoint(timeline.getBoundingClientRect().left + 8, innerHeight / 2);
    anchor = scrollY > 0 && element ? element.closest("#timeline > li") : null;
    if (anchor) top = anchor.getBoundingClientRect().top;
  };

  addEventListener("scroll", () => { if (regionsHeight() === lastHeight) chooseAnchor(); }, { passive: true });

  const observer = new ResizeObserver(() => {
    const moved = anchor && anchor.isConnected ? anchor.getBoundingClientRect().top - top : 0;
    if (regionsHeight() !== lastHeight && Math.abs(moved) > 1) scrollBy({ top: moved, behavior: "instant" });
    lastHeight = regionsHeight();
    chooseAnchor();
  });
  for (const part of [...regions, timeline]) observer.observe(part);
})();

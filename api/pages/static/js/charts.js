// Charts of our own numbers. Each is drawn from the table below it, which is the truth for those who
// do not see it: first column days, the others figures.
(() => {
  const HEIGHT = 220;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const COLOURS = ["--accent", "--blue", "--green", "--amber", "--red", "--quiet"];

  const columns = (table) => {
    const rows = [...table.tBodies[0].rows].reverse(); // newest first in the table, last in a chart
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
    const days = rows.map((row) => Date.parse(`${row.cells[0].dataset.value}T00:00:00Z`) / 1000);
    const figures = names.slice(1).map((_, place) => rows.map((row) => {
      const value = row.cells[place + 1].dataset.value;
      return value === "" || value === undefined ? null : Number(value);
    }));
    return { names: names.slice(1), data: [days, ...figures] };
  };

  const draw = (figure) => {
    const place = figure.querySelector(".chart");
    const { names, data } = columns(figure.querySelector("table"));
    if (data[0].length < 2) return;
    const axis = { stroke: css("--quiet"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false } };
    const series = names.map((label, index) => ({
      label,
      stroke: css(COLOURS[index % COLOURS.length]),
      width: 2,
      points: { size: 5 },
      spanGaps: true,
    }));
    place.replaceChildren();
    place.hidden = false;
    new uPlot({
      width: place.clientWidth,
      height: HEIGHT,
      tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC"),
      scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.08, 1e-6)] } },
      axes: [axis, { ...axis, size: 56 }],
      series: [{ value: "{YYYY}-{MM}-{DD}" }, ...series],
    }, data, place);
  };

  const all = () => document.querySelectorAll("figure[data-chart]").forEach(draw);
  all();
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(all, 150); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
})();

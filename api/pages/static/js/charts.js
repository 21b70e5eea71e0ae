// Charts of the statistics. Each is drawn from the table below it, which screen readers use: the
// first column has days, the other columns have numbers. Columns with a colour are drawn.
(() => {
  const HEIGHT = 220;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const columns = (table) => {
    const byAge = [...table.tBodies[0].rows].reverse(); // newest first in the table, last in a chart
    const first = byAge.findIndex((row) => !row.hidden); // the table hides days without a figure
    const rows = first < 0 ? [] : byAge.slice(first);
    const heads = [...table.tHead.rows[0].cells].filter((head) => head.dataset.colour);
    const days = rows.map((row) => Date.parse(`${row.cells[0].dataset.value}T00:00:00Z`) / 1000);
    const figures = heads.map((head) => rows.map((row) => {
      const { value } = row.cells[head.cellIndex].dataset;
      return value === "" || value === undefined ? null : Number(value);
    }));
    return { heads, data: [days, ...figures] };
  };

  const draw = (figure) => {
    const container = figure.querySelector(".chart");
    const { heads, data } = columns(figure.querySelector(".table-box table"));
    if (data[0].length < 2) return;
    const axis = { stroke: css("--quiet"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false } };
    const series = heads.map((head) => ({
      label: head.textContent.trim(),
      stroke: css(`--${head.dataset.colour}`),
      width: 2,
      points: { show: data[0].length < 15, size: 6 },
      paths: uPlot.paths.stepped({ align: 0 }),
    }));
    container.replaceChildren();
    container.hidden = false;
    new uPlot({
      width: container.clientWidth,
      height: HEIGHT,
      tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC"),
      legend: { live: false },
      cursor: { y: false },
      scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
      axes: [axis, { ...axis, size: 56 }],
      series: [{ value: "{YYYY}-{MM}-{DD}" }, ...series],
    }, data, container);
  };

  const all = () => document.querySelectorAll("figure[data-chart]").forEach(draw);
  all();
  let waiting;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(all, 150); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
})();

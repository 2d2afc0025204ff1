{
  // Light or dark: as the system has it, until the button is pressed.
  const page = document.documentElement, button = document.getElementById("theme");
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (page.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    page.dataset.theme = isDark() ? "light" : "dark";
    label();
    dispatchEvent(new Event("theme"));
  });
  systemDark.addEventListener("change", label);
  label();

  // Tables: a press on a heading sorts by it, another one the other way round. What has no number comes last.
  const valueOf = (row, at, numeric) => {
    const text = row.cells[at].textContent;
    if (!numeric) return text;
    const value = parseFloat(text.replace(/[,$\s]/g, ""));
    return Number.isNaN(value) ? null : value;
  };
  const inOrder = new Intl.Collator("en", { numeric: true }).compare;
  function sortBy(table, heading) {
    const at = heading.cellIndex, numeric = heading.classList.contains("number"), down = heading.getAttribute("aria-sort") === "ascending";
    const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, at, numeric), row]);
    const sign = down ? -1 : 1;
    rows.sort(([one], [other]) => {
      if (one === null || other === null) return (one === null) - (other === null);
      return sign * (numeric ? one - other : inOrder(one, other));
    });
    for (const other of heading.parentNode.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }
  for (const listing of document.querySelectorAll(".listing")) {
    const table = listing.querySelector("table"), filter = listing.querySelector(".filter"), found = listing.querySelector(".found");
    for (const heading of table.tHead.rows[0].cells) heading.querySelector("button").addEventListener("click", () => sortBy(table, heading));
    if (filter) filter.addEventListener("input", () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word);
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      found.textContent = words.length ? `${shown.toLocaleString("en-US")} of ${table.tBodies[0].rows.length.toLocaleString("en-US")}` : "";
    });
  }

  // Graphs, by a library that is unpacked first.
  const graphs = [...document.querySelectorAll(".graph")];
  async function unpack() {
    const packed = Uint8Array.from(atob(document.getElementById("library").textContent), (sign) => sign.charCodeAt(0));
    const script = document.createElement("script");
    script.textContent = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    document.head.append(script);
  }
  const printed = matchMedia("print");
  // The layout of a graph in the colours of the page.
  function dressed(layout) {
    const style = getComputedStyle(page), colour = (name) => style.getPropertyValue("--" + name).trim();
    const [ground, ink, line, shade] = ["ground", "ink", "line", "shade"].map(colour), narrow = innerWidth < 600;
    const made = structuredClone(layout);
    for (const name of ["xaxis", "yaxis", ...Object.keys(layout).filter((key) => /^[xy]axis\d/.test(key))]) {
      made[name] = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true, ...made[name] };
    }
    return {
      paper_bgcolor: ground, plot_bgcolor: ground, font: { color: ink, family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
      margin: { l: 12, r: 12, t: 12, b: 12 }, hovermode: "closest", dragmode: narrow ? false : "zoom",
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0 },
      autosize: !printed.matches, ...(printed.matches ? { width: 660, height: 330 } : {}), // as wide as a page of paper
      hoverlabel: { bgcolor: shade, bordercolor: line, font: { color: ink }, align: "left" }, ...made,
    };
  }
  const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"] };
  function drawGraph(graph) {
    const { choices, layout } = JSON.parse(graph.querySelector("script").textContent), choice = graph.querySelector(".choice");
    return Plotly.react(graph.querySelector(".plot"), choices[choice ? choice.selectedIndex : 0], dressed(layout), config);
  }
  const drawGraphs = () => Promise.all(graphs.map(drawGraph));
  async function showGraphs() {
    if (!graphs.length) return;
    try {
      await unpack();
      await drawGraphs();
    } catch (error) {
      for (const graph of graphs) graph.querySelector(".plot").textContent = `This browser cannot draw the graph (${error}); one from 2023 or later can.`;
      throw error;
    }
    addEventListener("theme", drawGraphs);
    for (const graph of graphs) graph.querySelector(".choice")?.addEventListener("change", () => drawGraph(graph));
    for (const media of [printed, systemDark]) media.addEventListener("change", drawGraphs);
  }
  var graphsShown = showGraphs();
}

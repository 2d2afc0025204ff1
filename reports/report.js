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

  // Plots of which one is chosen: charts that were hidden are laid out anew.
  for (const graph of document.querySelectorAll(".graph")) {
    const choice = graph.querySelector(".choice"), plots = [...graph.querySelectorAll(".chosen")];
    if (choice) choice.addEventListener("change", () => {
      plots.forEach((plot, at) => { plot.hidden = at !== choice.selectedIndex; });
      dispatchEvent(new Event("resize"));
    });
  }
}

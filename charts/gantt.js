"use strict";
// Gantt charts: panels of lanes on one axis of time.
const ROW_PX = 22, ROW_IN = 0.24, LEAST_ROW_PX = 14, HEAD_PX = 15, TIER_PX = 16, NAME_PX = 11, INSET = 0.08, MOST_PX = 8000;

for (const panel of chart.panels) {
  panel.lanes = panel.lanes.map(([label, rows, height, shaded]) => ({ label, rows, height, shaded }));
  panel.bars = panel.bars.map(([lane, row, start, end, look, name = "", short = "", hover = [], profile = null]) => ({ lane, row, start, end, look, name, short, hover, profile }));
  panel.marks = panel.marks.map(([lane, time, top, bottom, look, hover]) => ({ lane, time, top, bottom, look, hover }));
  panel.links = panel.links.map(([time, origin, goal, look, bend]) => ({ time, origin, goal, look, bend }));
  panel.limits = panel.limits.map(([time, look, name, tier]) => ({ time, look, name, tier }));
}
const digits = chart.unit === 1 ? 0 : 2;
const unit = chart.unit === 1 ? " s" : " h";
const moment = (seconds) => number(seconds / chart.unit, digits) + unit;

// ------------------------------------------------------------------- view

const last = Math.max(chart.end, ...chart.panels.flatMap((panel) => panel.limits.filter((limit) => limit.tier === null).map((limit) => limit.time)));
const whole = { from: chart.start, to: last > chart.end ? last + 0.03 * (last - chart.start) : chart.end };
const view = { from: chart.start, to: chart.end };

function show(from, to) {
  const span = Math.min(Math.max(to - from, 20 * chart.unit / 3600, (chart.end - chart.start) / 5000), whole.to - whole.from);
  view.from = Math.min(Math.max(from, whole.from), whole.to - span);
  view.to = view.from + span;
  draw();
}

function zoom(factor, panel = null, x = 0) {
  const around = panel ? panel.time(x) : (view.from + view.to) / 2;
  const span = Math.min((view.to - view.from) * factor, whole.to - whole.from), part = (around - view.from) / (view.to - view.from);
  show(around - part * span, around - part * span + span);
}

const move = (part) => show(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));

class Lanes {
  constructor(panel, section) {
    this.panel = panel;
    this.box = section.querySelector(".rows");
    this.canvas = section.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.order = panel.bars.slice().sort((a, b) => chart.looks[a.look].layer - chart.looks[b.look].layer);
    this.rows = new Map();
    for (const bar of this.order) {
      if (bar.row === null || !bar.name) continue;
      const key = bar.lane * 1e6 + bar.row;
      if (!this.rows.has(key)) this.rows.set(key, []);
      this.rows.get(key).push(bar);
    }
    for (const bars of this.rows.values()) bars.sort((a, b) => a.start - b.start);
    this.keys = [...this.rows.keys()].sort((a, b) => a - b);
  }

  // Where everything lies; anew whenever the width changes.
  layout() {
    const wide = this.box.clientWidth, context = this.context;
    this.narrow = wide < NARROW_PX;
    context.font = `12px ${FONT}`;
    const longest = Math.max(0, ...this.panel.lanes.flatMap((lane) => lane.label.split("\n")).map((text) => width(context, text)));
    this.left = this.narrow ? 1 : Math.min(longest + 14, 0.3 * wide);
    this.right = wide - (this.narrow ? 1 : MARGIN_PX);
    const tiers = this.panel.limits.length ? 2 : 0;
    this.top = tiers * TIER_PX + 4;
    let y = 0;
    this.lanes = this.panel.lanes.map((lane) => {
      const row = Math.max(LEAST_ROW_PX, Math.round((lane.height / ROW_IN) * ROW_PX)), head = this.narrow ? HEAD_PX : 0;
      const place = { start: y, top: y + head, row, bottom: y + head + lane.rows * row };
      y = place.bottom + Math.max((this.panel.gap / ROW_IN) * ROW_PX, 2);
      return place;
    });
    this.full = this.top + y + AXIS_PX;
    this.box.style.height = this.full + "px";
    this.high = Math.min(this.full, printed.matches ? MOST_PX : Math.max(innerHeight, 200));
    const scale = devicePixelRatio || 1;
    this.canvas.style.height = this.high + "px";
    this.canvas.width = Math.round(wide * scale);
    this.canvas.height = Math.round(this.high * scale);
    this.wide = wide;
    this.scale = scale;
  }

  x(time) { return this.left + ((time - view.from) / (view.to - view.from)) * (this.right - this.left); }
  time(x) { return view.from + ((x - this.left) / (this.right - this.left)) * (view.to - view.from); }
  y(lane, row) { const place = this.lanes[lane]; return this.top - this.offset + place.top + row * place.row; }

  // Where a bar stands and its full height.
  ground(bar) {
    const place = this.lanes[bar.lane], inset = INSET * place.row, rows = this.panel.lanes[bar.lane].rows;
    const [first, n] = bar.row === null ? [0, rows] : [bar.row, 1];
    return [this.y(bar.lane, first + n) - inset, n * place.row - 2 * inset];
  }

  draw() {
    const context = this.context;
    const above = this.box.getBoundingClientRect().top;
    this.offset = Math.min(Math.max(-above, 0), this.full - this.high);
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.wide, this.high);
    // The axis stays in sight where the chart goes on below.
    const seen = printed.matches ? MOST_PX : Math.max(innerHeight - Math.max(above, 0), this.top + 5 * ROW_PX);
    this.bottom = Math.min(this.high, seen) - AXIS_PX;
    this.drawLanes();
    this.drawAxis();
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.right - this.left, this.bottom - this.top);
    context.clip();
    this.drawBars();
    this.drawLinks();
    this.drawLimitLines();
    this.writeNames();
    if (this.narrow) this.nameLanes();
    this.drawMarks();
    context.restore();
    this.drawLimitNames();
  }

  drawLanes() {
    const context = this.context;
    context.save();
    context.beginPath();
    context.rect(0, this.top, this.wide, this.bottom - this.top);
    context.clip();
    this.panel.lanes.forEach((lane, n) => {
      const [top, bottom] = this.span(n);
      if (!lane.shaded || bottom < this.top || top > this.bottom) return;
      context.fillStyle = theme.shade;
      context.fillRect(this.left, top, this.right - this.left, bottom - top);
    });
    if (!this.narrow) this.nameLanes();
    context.restore();
  }

  span(lane) { return ["start", "bottom"].map((edge) => this.top - this.offset + this.lanes[lane][edge]); }

  // At the left edge, in the middle of what is to be seen of a lane; above its rows where there is no room beside them.
  nameLanes() {
    const context = this.context;
    context.font = `12px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = this.narrow ? "left" : "right";
    this.panel.lanes.forEach((lane, n) => {
      const [top, bottom] = this.span(n);
      if (bottom < this.top || top > this.bottom) return;
      if (this.narrow) {
        const text = fitting(context, lane.label.replace("\n", ", "), "", this.wide - 10);
        context.fillStyle = lane.shaded ? theme.shade : theme.ground;
        context.fillRect(2, top + 1, width(context, text) + 6, HEAD_PX - 1);
        context.fillStyle = theme.ink;
        context.fillText(text, 5, top + HEAD_PX / 2 + 1);
        return;
      }
      context.fillStyle = theme.ink;
      const lines = bottom - top >= 26 ? lane.label.split("\n") : [lane.label.replace("\n", ", ")];
      const middle = (Math.max(top, this.top) + Math.min(bottom, this.bottom)) / 2;
      lines.forEach((line, at) => context.fillText(fitting(context, line, "", this.left - 12), this.left - 7, middle + 14 * (at - (lines.length - 1) / 2)));
    });
  }

  drawAxis() {
    const context = this.context, span = (view.to - view.from) / chart.unit;
    const [step, places] = ticks(span, (this.right - this.left) / 75, !digits);
    context.font = `12px ${FONT}`;
    context.textBaseline = "top";
    context.textAlign = "center";
    context.lineWidth = 1;
    const first = Math.ceil(view.from / chart.unit / step) * step;
    for (let at = first; at <= view.to / chart.unit + 1e-9; at += step) {
      const x = Math.round(this.x(at * chart.unit)) + 0.5, text = number(at, places, places) + (at === first ? unit : ""), half = width(context, text) / 2;
      context.strokeStyle = theme.line;
      context.beginPath();
      context.moveTo(x, this.top);
      context.lineTo(x, this.bottom + 4);
      context.stroke();
      context.fillStyle = theme.ink;
      context.fillText(text, Math.min(Math.max(x, half), this.wide - half), this.bottom + 6);
    }
    context.strokeStyle = theme.faint;
    context.strokeRect(Math.round(this.left) + 0.5, this.top - 0.5, Math.round(this.right - this.left), this.bottom - this.top + 1);
  }

  drawBars() {
    const context = this.context;
    for (const bar of this.order) {
      const [ground, full] = this.ground(bar);
      if (ground < this.top || ground - full > this.bottom || bar.end < view.from || bar.start > view.to) continue;
      const look = chart.looks[bar.look], left = this.x(bar.start), wide = Math.max(this.x(bar.end) - left, 0.6);
      context.fillStyle = fillOf(context, look);
      context.globalAlpha = wide > 3 ? look.opacity : 1;
      if (bar.profile) {
        this.outline(bar, ground, full);
        context.fill();
      } else {
        const gap = look.edge === "white" && wide > 3 ? 1 : 0;
        context.fillRect(left, ground - full, wide - gap, full);
      }
      context.globalAlpha = 1;
      if (look.edge && look.edge !== "white" && wide > 2) {
        context.strokeStyle = tone(look.edge);
        context.lineWidth = look.edgeWidth;
        bar.profile ? this.outline(bar, ground, full) : (context.beginPath(), context.rect(left, ground - full, wide, full));
        context.stroke();
      }
      if (selected && selected.bar === bar) {
        context.strokeStyle = theme.ink;
        context.lineWidth = 3;
        context.strokeRect(left, ground - full, wide, full);
      }
    }
  }

  outline(bar, ground, full) {
    const context = this.context, steps = bar.profile;
    context.beginPath();
    context.moveTo(this.x(steps[0][0]), ground);
    for (let n = 0; n + 1 < steps.length; n++) {
      for (const at of [steps[n][0], steps[n + 1][0]]) context.lineTo(this.x(at), ground - steps[n][1] * full);
    }
    context.lineTo(this.x(steps[steps.length - 1][0]), ground);
    context.closePath();
  }

  // After all lines, and on the colour of the bar, so that lines do not cross names.
  writeNames() {
    this.context.textBaseline = "middle";
    this.context.textAlign = "center";
    this.context.font = `${NAME_PX}px ${FONT}`;
    for (const bar of this.order) {
      const look = chart.looks[bar.look], [ground, full] = this.ground(bar);
      if (!look.text || !bar.name || ground < this.top || ground - full > this.bottom || bar.end < view.from || bar.start > view.to) continue;
      const high = bar.profile ? full * Math.min(...bar.profile.slice(0, -1).map((step) => step[1])) : full;
      this.writeName(bar, look, ground, high);
    }
  }

  // Along or across, whichever has room for more; in the middle of what is to be seen.
  writeName(bar, look, ground, high) {
    const context = this.context, left = Math.max(this.x(bar.start), this.left), right = Math.min(this.x(bar.end), this.right);
    const wide = right - left;
    if (wide < NAME_PX || high < NAME_PX) return;
    const along = fitting(context, bar.name, bar.short, wide - 5), across = high > 2.5 * NAME_PX ? fitting(context, bar.name, bar.short, high - 5) : "";
    const name = along.length >= across.length ? along : across;
    if (!name) return;
    const colour = tone(look.colour);
    context.save();
    context.translate((left + right) / 2, ground - high / 2 + 0.5);
    if (name !== along) context.rotate(-Math.PI / 2);
    const half = width(context, name) / 2 + 2;
    context.fillStyle = colour;
    context.fillRect(-half, -NAME_PX / 2 - 1, 2 * half, NAME_PX + 2);
    context.fillStyle = textColour(look, colour);
    context.fillText(name, 0, 0);
    context.restore();
  }

  drawLinks() {
    const context = this.context;
    for (const link of this.panel.links) {
      const look = chart.looks[link.look], begin = this.y(...link.origin), end = this.y(...link.goal), at = this.x(link.time);
      if (Math.max(begin, end) < this.top || Math.min(begin, end) > this.bottom) continue;
      const bend = this.x(link.time + 2 * link.bend), middle = (begin + end) / 2;
      context.strokeStyle = context.fillStyle = legible(tone(look.colour), theme.ground);
      context.lineWidth = Math.max(look.width, 1);
      context.setLineDash(dash(look));
      context.beginPath();
      context.moveTo(at, begin);
      context.quadraticCurveTo(bend, middle, at, end);
      context.stroke();
      context.setLineDash([]);
      const angle = Math.atan2(end - middle, at - bend);
      context.beginPath();
      context.moveTo(at, end);
      for (const turn of [-0.42, 0.42]) context.lineTo(at - 8 * Math.cos(angle + turn), end - 8 * Math.sin(angle + turn));
      context.fill();
    }
  }

  drawLimitLines() {
    const context = this.context;
    for (const limit of this.panel.limits) {
      const look = chart.looks[limit.look], x = this.x(limit.time) + (limit.tier === null ? 0 : limit.tier ? 1 : -1);
      if (x < this.left - 2 || x > this.right + 2) continue;
      for (const [colour, wide] of [[theme.ground, look.width + 2.4], [legible(tone(look.colour), theme.ground), look.width + 0.4]]) {
        context.strokeStyle = colour;
        context.lineWidth = wide;
        context.setLineDash(dash(look));
        context.beginPath();
        context.moveTo(x, this.top);
        context.lineTo(x, this.bottom);
        context.stroke();
      }
      context.setLineDash([]);
    }
  }

  // Names above the lines where there is room; a limit without a tier that is out of sight is named at the edge.
  drawLimitNames() {
    const context = this.context, taken = [[], []];
    this.edges = [];
    context.textBaseline = "middle";
    context.textAlign = "center";
    for (const limit of this.panel.limits) {
      const look = chart.looks[limit.look], x = this.x(limit.time), outside = x < this.left - 2 ? -1 : x > this.right + 2 ? 1 : 0;
      if (outside && limit.tier !== null) continue;
      context.font = `${this.narrow ? 11 : 12}px ${FONT}`;
      const name = limit.name || look.label, text = outside > 0 ? name + " →" : outside < 0 ? "← " + name : name;
      const half = width(context, text) / 2 + 3, centre = Math.min(Math.max(x, half), this.wide - half);
      const tiers = limit.tier === null ? [0, 1] : [limit.tier];
      const tier = tiers.find((candidate) => taken[candidate].every(([from, to]) => centre + half < from || centre - half > to));
      if (tier === undefined) continue;
      taken[tier].push([centre - half, centre + half]);
      const y = this.top - 3 - TIER_PX * (tier + 0.5);
      context.fillStyle = legible(tone(look.colour), theme.ground);
      context.fillText(text, centre, y);
      if (outside) this.edges.push({ from: centre - half, to: centre + half, y, time: limit.time });
    }
  }

  drawMarks() {
    for (const mark of this.panel.marks) {
      const look = chart.looks[mark.look], x = this.x(mark.time), y = this.y(mark.lane, mark.top);
      if (x < this.left - 8 || x > this.right + 8) continue;
      if (mark.top !== mark.bottom) line(this.context, look, x, y, x, this.y(mark.lane, mark.bottom));
      else sign(this.context, look, x, y, Math.min(1, this.lanes[mark.lane].row / 18));
    }
  }

  // What lies under a point: signs before bars, and among bars what is drawn last; what lies over others is told with them.
  at(x, y) {
    const near = this.panel.marks.filter((mark) => mark.hover.length && Math.abs(this.x(mark.time) - x) < 9 && Math.abs(this.y(mark.lane, mark.top) - y) < 9);
    if (near.length) return { lines: near.flatMap((mark) => mark.hover) };
    if (y > this.top && y < this.bottom && x > this.left - 2 && x < this.right + 2) {
      const over = [];
      for (let n = this.order.length - 1; n >= 0; n--) {
        const bar = this.order[n], [ground, full] = this.ground(bar);
        if (y > ground || y < ground - full) continue;
        if (x < this.x(bar.start) || x > Math.max(this.x(bar.end), this.x(bar.start) + 2)) continue;
        if (chart.looks[bar.look].opacity < 1) over.push(...this.lines(bar));
        else return { selected: { panel: this, bar }, lines: [...this.lines(bar), ...over] };
      }
      if (over.length) return { lines: over };
    }
    const limit = this.panel.limits.find((candidate) => Math.abs(this.x(candidate.time) - x) < 5);
    return limit ? { lines: [limit.name ? `${limit.name}: ${moment(limit.time)}` : chart.looks[limit.look].label] } : null;
  }

  lines(bar) {
    const look = chart.looks[bar.look], lane = this.panel.lanes[bar.lane].label.replace("\n", ", ");
    const place = bar.row !== null && chart.rowLabel ? `${lane}, ${chart.rowLabel} ${bar.row}` : lane;
    const times = `${moment(bar.start)} to ${moment(bar.end)} (${moment(bar.end - bar.start)})`;
    return [bar.name || look.label, place, times, ...(look.label && bar.name !== look.label ? [look.label] : []), ...bar.hover].filter((text) => text);
  }

  // -------------------------------------------------------- what is done

  view() { return { from: view.from, to: view.to }; }

  drag(dx, dy, begun) {
    const seconds = (dx * (begun.to - begun.from)) / (this.right - this.left);
    show(begun.from - seconds, begun.to - seconds);
  }

  // A tap on the name of a limit that is out of sight shows it.
  tap(x, y) {
    const edge = this.edges.find((label) => x > label.from && x < label.to && Math.abs(y - label.y) < TIER_PX / 2 + 2);
    if (edge) show(Math.min(view.from, edge.time), Math.max(view.to, whole.to));
    return Boolean(edge);
  }

  // Go from the selected bar to one beside it, or to the nearest of the row above or below.
  go(along, across) {
    if (!this.keys.length) return;
    let bar = this.rows.get(this.keys[0])[0];
    if (selected && selected.panel === this) {
      const key = selected.bar.lane * 1e6 + selected.bar.row, at = Math.max(this.keys.indexOf(key), 0);
      const bars = this.rows.get(this.keys[Math.min(Math.max(at + across, 0), this.keys.length - 1)]);
      if (across) bar = bars.reduce((best, other) => (Math.abs(other.start - selected.bar.start) < Math.abs(best.start - selected.bar.start) ? other : best));
      else bar = bars[Math.min(Math.max(bars.indexOf(selected.bar) + along, 0), bars.length - 1)];
    }
    this.select(bar);
  }

  // Select a bar and bring it into sight.
  select(bar) {
    selected = { panel: this, bar };
    const span = view.to - view.from;
    if (bar.start < view.from || Math.min(bar.end, bar.start + span) > view.to) show((bar.start + bar.end - span) / 2, (bar.start + bar.end + span) / 2);
    const place = this.lanes[bar.lane], box = this.box.getBoundingClientRect();
    const y = box.top + this.top + place.top + (bar.row + 0.5) * place.row;
    if (y < this.top + 20 || y > innerHeight - AXIS_PX - 20) scrollBy(0, y - innerHeight / 2);
    this.draw();
    const frame = this.canvas.getBoundingClientRect(), [ground] = this.ground(bar);
    tell(this.lines(bar), frame.left + Math.min(Math.max(this.x(bar.start), this.left), this.right), frame.top + ground);
  }
}

const find = element("find"), found = element("found");
let hits = [], hit = 0;

function goToHit() {
  found.textContent = find.value ? (hits.length ? `${hit + 1} of ${hits.length.toLocaleString("en-US")}` : "none") : "";
  if (hits.length) hits[hit].panel.select(hits[hit].bar);
  else selected = null, tell(null), draw();
}

find.addEventListener("input", () => {
  const text = find.value.toLowerCase();
  hits = text ? panels.flatMap((panel) => [...panel.rows.values()].flat().filter((bar) => bar.name.toLowerCase().includes(text)).map((bar) => ({ panel, bar }))) : [];
  hit = 0;
  goToHit();
});
find.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !hits.length) return;
  hit = (hit + (event.shiftKey ? hits.length - 1 : 1)) % hits.length;
  goToHit();
});
begin([...root.querySelectorAll("section")].map((section, n) => new Lanes(chart.panels[n], section)), zoom, move, () => show(chart.start, chart.end));
return { panels, view, tip };

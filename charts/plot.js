"use strict";
// Plots: curves and points of one panel, with an axis at the right for curves that need their own.
const HEIGHT_PX = 480, LEAST_PX = 300;

// Round values of an axis of powers of ten, at their exponents; where these are few, those of an even axis.
function powers(low, high, most) {
  const value = (at) => (+(10 ** at).toPrecision(12)).toLocaleString("en-US", { maximumSignificantDigits: 4 }), found = [];
  const times = 3 * (high - low) > most ? [1] : [1, 2, 5], every = Math.max(Math.ceil((high - low) / most), 1);
  for (let power = Math.floor(low / every) * every; power <= high; power += every) {
    for (const at of times.map((times) => power + Math.log10(times))) if (at >= low && at <= high) found.push({ at, text: value(at) });
  }
  if (found.length > 2) return found;
  const [step] = ticks(10 ** high - 10 ** low, most, false), even = [];
  for (let at = Math.ceil(10 ** low / step) * step; at <= 10 ** high; at += step) even.push({ at: Math.log10(at), text: value(Math.log10(at)) });
  return even;
}

class Curves {
  constructor(section) {
    this.box = section.querySelector(".rows");
    this.canvas = section.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.reset();
  }

  reset() { this.shown = { x: chart.x.slice(), y: chart.y.slice(), beside: chart.beside && chart.beside.slice() }; }

  layout() {
    const wide = this.box.clientWidth, scale = devicePixelRatio || 1, context = this.context;
    this.high = Math.max(LEAST_PX, Math.min(HEIGHT_PX, innerHeight - 180));
    this.canvas.width = Math.round(wide * scale);
    this.canvas.height = Math.round(this.high * scale);
    this.canvas.style.height = this.high + "px";
    this.wide = wide;
    this.scale = scale;
    this.top = 22;
    this.bottom = this.high - AXIS_PX - 2;
    context.font = `12px ${FONT}`;
    this.left = this.gutter("y") + 10;
    this.right = wide - (chart.beside ? this.gutter("beside") + 10 : MARGIN_PX);
  }

  // Room for the numbers of an upright axis.
  gutter(axis) { return Math.max(...this.marks(axis).map((mark) => width(this.context, mark.text))); }

  marks(axis) {
    const [low, high] = this.shown[axis], along = axis === "x" ? (this.right - this.left) / 80 : (this.bottom - this.top) / 45;
    const most = Math.max(along || 6, 2), names = chart.names[axis];
    if (chart.powers.includes(axis)) return powers(low, high, most);
    const [step, places] = ticks(high - low, most, chart.whole[axis] || names.length > 0);
    const room = axis === "x" ? (step / (high - low)) * (this.right - this.left) - 8 : this.wide / 4, found = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) {
      found.push({ at, text: names.length ? fitting(this.context, names[at] || "", "", room) : number(at, places, places) });
    }
    return found;
  }

  x(value) { const [low, high] = this.shown.x; return this.left + ((value - low) / (high - low)) * (this.right - this.left); }
  y(value, beside = false) { const [low, high] = this.shown[beside ? "beside" : "y"]; return this.bottom - ((value - low) / (high - low)) * (this.bottom - this.top); }

  draw() {
    const context = this.context;
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.wide, this.high);
    this.drawAxes();
    context.save();
    context.beginPath();
    context.rect(this.left - 6, this.top - 6, this.right - this.left + 12, this.bottom - this.top + 12);
    context.clip();
    const order = chart.curves.slice().sort((one, other) => chart.looks[one.look].layer - chart.looks[other.look].layer);
    for (const curve of order) this.drawCurve(curve);
    for (const curve of order) this.writeNames(curve);
    context.restore();
  }

  drawAxes() {
    const context = this.context;
    context.font = `12px ${FONT}`;
    context.lineWidth = 1;
    context.strokeStyle = theme.line;
    context.fillStyle = theme.ink;
    context.textBaseline = "top";
    context.textAlign = "center";
    context.beginPath();
    for (const { at, text } of this.marks("x")) {
      const x = Math.round(this.x(at)) + 0.5, half = width(context, text) / 2;
      context.moveTo(x, this.top);
      context.lineTo(x, this.bottom + 4);
      context.fillText(text, Math.min(Math.max(x, half), this.wide - half), this.bottom + 7);
    }
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const { at, text } of this.marks("y")) {
      const y = Math.round(this.y(at)) + 0.5;
      context.moveTo(this.left - 4, y);
      context.lineTo(this.right, y);
      context.fillText(text, this.left - 7, y);
    }
    context.textAlign = "left";
    if (chart.beside) for (const { at, text } of this.marks("beside")) {
      const y = Math.round(this.y(at, true)) + 0.5;
      context.moveTo(this.right, y);
      context.lineTo(this.right + 4, y);
      context.fillText(text, this.right + 7, y);
    }
    context.stroke();
    context.strokeStyle = theme.faint;
    context.strokeRect(Math.round(this.left) + 0.5, this.top - 0.5, Math.round(this.right - this.left), this.bottom - this.top + 1);
    context.fillText(chart.yLabel, 0, 8);
    context.textAlign = "right";
    if (chart.beside) context.fillText(chart.besideLabel, this.wide, 8);
  }

  drawCurve(curve) {
    const look = chart.looks[curve.look], context = this.context;
    if (look.line) {
      context.strokeStyle = legible(tone(look.colour), theme.ground);
      context.lineWidth = look.width;
      context.setLineDash(dash(look));
      context.beginPath();
      let before = null;
      for (const point of curve.points) {
        if (point === null) { before = null; continue; }
        const [x, y] = [this.x(point[0]), this.y(point[1], curve.beside)];
        if (before === null) context.moveTo(x, y);
        else if (curve.steps) context.lineTo(x, before), context.lineTo(x, y);
        else context.lineTo(x, y);
        before = y;
      }
      context.stroke();
      context.setLineDash([]);
    }
    if (curve.spans.length) this.drawSpans(curve, look);
    if (!look.sign) return;
    for (const [at, point] of curve.points.entries()) {
      if (point === null) continue;
      sign(context, look, this.x(point[0]), this.y(point[1], curve.beside), 1);
      if (selected && selected.curve === curve && selected.at === at) {
        context.strokeStyle = theme.ink;
        context.lineWidth = 2;
        context.beginPath();
        context.arc(this.x(point[0]), this.y(point[1], curve.beside), 11, 0, 7);
        context.stroke();
      }
    }
  }

  // Intervals around points, with ends.
  drawSpans(curve, look) {
    const context = this.context, end = 3;
    context.strokeStyle = legible(tone(look.colour), theme.ground);
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [at, point] of curve.points.entries()) {
      const half = curve.spans[at];
      if (point === null || !half) continue;
      const [x, y] = [this.x(point[0]), this.y(point[1], curve.beside)];
      for (const side of [-half, half]) {
        const [goalX, goalY] = curve.across ? [this.x(point[0] + side), y] : [x, this.y(point[1] + side, curve.beside)];
        context.moveTo(x, y);
        context.lineTo(goalX, goalY);
        context.moveTo(goalX - (curve.across ? 0 : end), goalY - (curve.across ? end : 0));
        context.lineTo(goalX + (curve.across ? 0 : end), goalY + (curve.across ? end : 0));
      }
    }
    context.stroke();
  }

  // Beside the points that have names, where there is room for them.
  writeNames(curve) {
    const context = this.context;
    if (!curve.name || !curve.points.length) return;
    context.font = `12px ${FONT}`;
    context.textBaseline = "bottom";
    const [x, y] = [this.x(curve.points[0][0]), this.y(curve.points[0][1])], left = x + 10 + width(context, curve.name) > this.right;
    context.textAlign = left ? "right" : "left";
    context.lineWidth = 3;
    context.strokeStyle = theme.ground;
    context.fillStyle = legible(tone(chart.looks[curve.look].colour), theme.ground);
    const below = y - 16 - 13 * curve.line < this.top;
    if (below) context.textBaseline = "top";
    const place = [left ? x - 8 : x + 8, y + (below ? 4 + 13 * curve.line : -4 - 13 * curve.line)];
    context.strokeText(curve.name, ...place);
    context.fillText(curve.name, ...place);
  }

  // The nearest of all points that have something to say.
  at(x, y) {
    let best = null, least = 14;
    for (const curve of chart.curves) {
      curve.hover.forEach((lines, at) => {
        const point = curve.points[at], far = Math.hypot(this.x(point[0]) - x, this.y(point[1], curve.beside) - y);
        if (far < least) [best, least] = [{ selected: { curve, at }, lines }, far];
      });
    }
    return best;
  }

  tap() { return false; }
  view() { return { x: this.shown.x, y: this.shown.y }; }

  drag(dx, dy, begun) {
    const [across, up] = [(dx * (begun.x[1] - begun.x[0])) / (this.right - this.left), (dy * (begun.y[1] - begun.y[0])) / (this.bottom - this.top)];
    this.shown.x = begun.x.map((value) => value - across);
    this.shown.y = begun.y.map((value) => value + up);
    this.keep();
  }

  zoom(factor, x, y) {
    const around = (range, part) => { const at = range[0] + part * (range[1] - range[0]); return range.map((value) => at + factor * (value - at)); };
    this.shown.x = around(this.shown.x, x === undefined ? 0.5 : (x - this.left) / (this.right - this.left));
    this.shown.y = around(this.shown.y, y === undefined ? 0.5 : (this.bottom - y) / (this.bottom - this.top));
    this.keep();
  }

  // Within what is there.
  keep() {
    for (const axis of ["x", "y"]) {
      const [low, high] = chart[axis], span = Math.min(Math.max(this.shown[axis][1] - this.shown[axis][0], (high - low) / 5000), high - low);
      const from = Math.min(Math.max(this.shown[axis][0], low), high - span);
      this.shown[axis] = [from, from + span];
    }
    this.layout();
    draw();
  }

  // Along the points of a curve, or to the next curve that has points to point at.
  go(along, across) {
    const curves = chart.curves.filter((curve) => curve.hover.length);
    if (!curves.length) return;
    let place = selected ? curves.indexOf(selected.curve) : 0, at = selected ? selected.at + along : 0;
    if (across) place = (place + across + curves.length) % curves.length, at = 0;
    const curve = curves[place];
    at = Math.min(Math.max(at, 0), curve.hover.length - 1);
    selected = { curve, at };
    const point = curve.points[at], frame = this.canvas.getBoundingClientRect();
    if (this.x(point[0]) < this.left || this.x(point[0]) > this.right || this.y(point[1]) < this.top || this.y(point[1]) > this.bottom) this.reset(), this.keep();
    draw();
    tell(curve.hover[at], frame.left + this.x(point[0]), frame.top + this.y(point[1], curve.beside));
  }
}

const curves = new Curves(root.querySelector("section"));
begin([curves], (factor, panel, x, y) => curves.zoom(factor, x, y), (part) => curves.drag(-part * (curves.right - curves.left), 0, curves.view()), () => { curves.reset(); curves.keep(); });
return { panels, curves, tip };

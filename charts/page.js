"use strict";
// What all charts share: colours, text, signs, the legend, what is told of what one points at. This and the rest of
// a drawing are the body of a function of `root`, the element that a chart is drawn in, and `chart`, what is drawn.
const element = (name) => root.querySelector("." + name);
const tip = element("tip");
const FONT = "system-ui, sans-serif", LEAST_CUT = 6, MARGIN_PX = 8, AXIS_PX = 22, NARROW_PX = 600;
const printed = matchMedia("print");
let panels = [], selected = null; // selected: what the keys, a tap or the search have come to

// ---------------------------------------------------------------- colours

let theme;
const tones = new Map();

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const [ground, ink, faint, line, shade] = ["ground", "ink", "faint", "line", "shade"].map((name) => style.getPropertyValue("--" + name).trim());
  theme = { ground, ink, faint, line, shade, dark: luminance(ground) < 0.18 };
  tones.clear();
}

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
const hex = (parts) => "#" + parts.map((part) => Math.round(255 * part).toString(16).padStart(2, "0")).join("");

function luminance(colour) {
  const [r, g, b] = channels(colour).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function mixed(one, other, part) {
  const [a, b] = [channels(one), channels(other)];
  return hex(a.map((c, n) => c + part * (b[n] - c)));
}

// On a dark ground what is pale becomes dark, and what is nearly black becomes light.
function tone(colour) {
  if (colour === "white") return theme.ground;
  if (!theme.dark) return colour;
  let found = tones.get(colour);
  if (!found) {
    const light = luminance(colour);
    found = light > 0.55 ? darkened(colour) : light < 0.05 ? mixed(colour, "#ffffff", 0.8) : colour;
    tones.set(colour, found);
  }
  return found;
}

// A dark colour of the same hue, its greyness a little stronger.
function darkened(colour) {
  const parts = channels(colour), [low, high] = [Math.min(...parts), Math.max(...parts)], strength = Math.min(2.5 * (1 - low / high), 0.5);
  const top = 0.26 + 0.5 * strength;
  return hex(parts.map((part) => top * (1 - strength * (high === low ? 0 : (high - part) / (high - low)))));
}

// A colour for text or a line on a ground: moved towards the ink until it can be read.
function legible(colour, ground) {
  const ink = luminance(ground) > 0.18 ? "#000000" : "#ffffff";
  for (let part = 0; part < 1; part += 0.15) {
    const found = mixed(colour, ink, part);
    if (contrast(found, ground) >= 4) return found;
  }
  return ink;
}

// The text of a bar as it is wished, if that can be read; else what can.
function textColour(look, ground) {
  const wished = look.text === "white" ? "#ffffff" : look.text;
  if (contrast(wished, ground) >= 2.8) return wished;
  return contrast("#ffffff", ground) >= 3 ? "#ffffff" : "#10151c";
}

const patterns = new Map();

function fillOf(context, look) {
  const ground = tone(look.colour);
  if (!look.hatch) return ground;
  const line = legible(tone(look.edge || "#777777"), ground), key = look.hatch[0] + ground + line;
  if (!patterns.has(key)) {
    const tile = document.createElement("canvas"), pen = tile.getContext("2d");
    tile.width = tile.height = 8;
    pen.fillStyle = ground;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = pen.fillStyle = line;
    pen.globalAlpha = look.hatch[0] === "." ? 0.6 : 0.8;
    pen.beginPath();
    if (look.hatch[0] === ".") pen.rect(1, 1, 1.5, 1.5), pen.rect(5, 5, 1.5, 1.5), pen.fill();
    else {
      for (const shift of [-8, 0, 8]) pen.moveTo(shift - 1, 9), pen.lineTo(shift + 9, -1);
      if (look.hatch[0] === "x") for (const shift of [-8, 0, 8]) pen.moveTo(shift - 1, -1), pen.lineTo(shift + 9, 9);
      pen.stroke();
    }
    patterns.set(key, context.createPattern(tile, "repeat"));
  }
  return patterns.get(key);
}

// ------------------------------------------------------------------- text

const widths = new Map();

function width(context, text) {
  if (!widths.has(context.font)) widths.set(context.font, new Map());
  const known = widths.get(context.font);
  if (!known.has(text)) known.set(text, context.measureText(text).width);
  return known.get(text);
}

// As much of a name as there is room for, or of its short form if it has one.
function fitting(context, name, short, room) {
  if (width(context, name) <= room) return name;
  const text = short || name;
  if (short && width(context, short) <= room) return short;
  for (let kept = Math.min(text.length - 1, Math.ceil(room / 3)); kept >= LEAST_CUT; kept--) {
    const end = Math.floor((kept - 1) / 2), cut = text.slice(0, kept - 1 - end) + "…" + text.slice(text.length - end);
    if (width(context, cut) <= room) return cut;
  }
  return "";
}

const number = (value, most, least = 0) => (value || 0).toLocaleString("en-US", { maximumFractionDigits: most, minimumFractionDigits: least });

// A round step of an axis, of so many at most, and how many digits after the point it has.
function ticks(span, most, whole) {
  const rough = span / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((candidate) => candidate >= rough * 0.999);
  const found = whole ? Math.max(1, Math.ceil(step)) : +step.toPrecision(3);
  return [found, (found.toString().split(".")[1] || "").length];
}

// ---------------------------------------------------------- lines and signs

const dash = (look) => ({ "--": [6, 4], ":": [2, 3] })[look.line] || [];

function line(context, look, x0, y0, x1, y1) {
  context.strokeStyle = legible(tone(look.colour), theme.ground);
  context.lineWidth = look.width;
  context.setLineDash(dash(look));
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
  context.setLineDash([]);
}

const OUTLINES = {
  v: [[-1, -0.8], [1, -0.8], [0, 1]],
  "^": [[-1, 0.8], [1, 0.8], [0, -1]],
  D: [[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]],
  s: [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
  X: [[-1, -0.55], [-0.55, -1], [0, -0.45], [0.55, -1], [1, -0.55], [0.45, 0], [1, 0.55], [0.55, 1], [0, 0.45], [-0.55, 1], [-1, 0.55], [-0.45, 0]],
  P: [[-0.35, -1], [0.35, -1], [0.35, -0.35], [1, -0.35], [1, 0.35], [0.35, 0.35], [0.35, 1], [-0.35, 1], [-0.35, 0.35], [-1, 0.35], [-1, -0.35], [-0.35, -0.35]],
  "<": [[0.8, -1], [-1, 0], [0.8, 1]],
  ">": [[-0.8, -1], [1, 0], [-0.8, 1]],
  "*": [...Array(10).keys()].map((n) => [Math.sin((n * Math.PI) / 5) * (n % 2 ? 0.42 : 1.1), -Math.cos((n * Math.PI) / 5) * (n % 2 ? 0.42 : 1.1)]),
};

function sign(context, look, x, y, scale) {
  const half = (Math.sqrt(look.size) * 1.33 * scale) / 2;
  const black = theme.dark && luminance(look.colour) < 0.05;
  context.fillStyle = black ? tone(look.colour) : look.colour;
  context.strokeStyle = look.edge && !black ? (look.edge === "white" ? theme.ground : look.edge) : tone(look.colour);
  context.lineWidth = look.edge ? Math.max(look.edgeWidth, 1) : 1;
  if (look.sign === "|") return line(context, look, x, y - half, x, y + half);
  context.beginPath();
  if (look.sign === "o") context.arc(x, y, half, 0, 7);
  else OUTLINES[look.sign].forEach(([dx, dy], n) => context[n ? "lineTo" : "moveTo"](x + half * dx, y + half * dy));
  context.closePath();
  context.fill();
  context.stroke();
}

// ------------------------------------------------------------- what is told

// Text is only ever set as text: names of the data are never read as HTML.
function tell(lines, x, y) {
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.slice(0, 14).map((text) => Object.assign(document.createElement("div"), { textContent: text })));
  const box = tip.getBoundingClientRect();
  tip.style.left = scrollX + Math.max(8, Math.min(x + 14, document.documentElement.clientWidth - box.width - 8)) + "px";
  tip.style.top = scrollY + (y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
}

function drawLegend() {
  element("legend").replaceChildren(...chart.legend.map((at) => {
    const look = chart.looks[at], item = document.createElement("li"), swatch = document.createElement("canvas"), scale = devicePixelRatio || 1;
    swatch.width = 26 * scale;
    swatch.height = 16 * scale;
    const context = swatch.getContext("2d");
    context.scale(scale, scale);
    if (look.line) line(context, look, 1, 8, 25, 8);
    if (look.sign) sign(context, look, 13, 8, 1);
    if (!look.line && !look.sign) {
      context.fillStyle = fillOf(context, look);
      context.globalAlpha = look.opacity;
      context.fillRect(1, 3, 24, 10);
      context.globalAlpha = 1;
      context.strokeStyle = look.edge && look.edge !== "white" ? tone(look.edge) : theme.line;
      context.strokeRect(1.5, 3.5, 23, 9);
    }
    item.append(swatch, look.label);
    return item;
  }));
}

// ------------------------------------------------------- what is done

let waiting = false;

function draw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const panel of panels) {
      const box = panel.box.getBoundingClientRect();
      if (box.bottom > -50 && box.top < innerHeight + 50) panel.draw();
    }
  });
}

function start() {
  readTheme();
  for (const panel of panels) panel.layout();
  // Below the chart, unless one would have to look for it there.
  const shown = element("panels"), legend = element("legend");
  shown.offsetHeight > innerHeight ? shown.before(legend) : element("below").after(legend);
  for (const panel of panels) panel.draw();
  drawLegend();
}

// Begin to draw panels, each with layout() and draw(); zoom, move and reset are what the buttons, wheel and keys do.
function begin(made, zoom, move, reset) {
  panels = made;
  for (const [name, action] of Object.entries({ closer: () => zoom(0.7), farther: () => zoom(1.4), left: () => move(-0.25), right: () => move(0.25), all: reset })) {
    element(name).addEventListener("click", action);
  }
  for (const panel of panels) listen(panel, zoom, move, reset);
  addEventListener("scroll", () => { if (!selected) tell(null); draw(); }, { passive: true });
  addEventListener("resize", start);
  for (const media of ["print", "(prefers-color-scheme: dark)"]) matchMedia(media).addEventListener("change", start);
  addEventListener("theme", start); // of a page that can be switched from light to dark
  start();
}

const spread = (pointers) => { const [one, other] = [...pointers.values()]; return other === undefined ? 1 : Math.hypot(one[0] - other[0], one[1] - other[1]); };

// What pointers, the wheel and the keys do. A panel has at(x, y), tap(x, y), drag(dx, dy, from), go(along, across), all in pixels of its canvas.
function listen(panel, zoom, move, reset) {
  const canvas = panel.canvas, pointers = new Map();
  let begun = null;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, place(event));
    begun = { place: place(event), from: panel.view(), moved: false, spread: spread(pointers) };
    if (event.pointerType !== "touch") canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (!pointers.has(event.pointerId)) {
      const found = panel.at(x, y);
      canvas.style.cursor = found ? "pointer" : "default";
      if (!selected) tell(found && found.lines, event.clientX, event.clientY);
      return;
    }
    pointers.set(event.pointerId, [x, y]);
    if (pointers.size === 2) {
      const [one, other] = [...pointers.values()], now = Math.max(spread(pointers), 20);
      begun.moved = true;
      zoom(begun.spread / now, panel, (one[0] + other[0]) / 2, (one[1] + other[1]) / 2);
      begun.spread = now;
    } else if (begun.moved || Math.hypot(x - begun.place[0], y - begun.place[1]) > 5) {
      begun.moved = true;
      tell(null);
      panel.drag(x - begun.place[0], y - begun.place[1], begun.from);
    }
  });
  canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("pointerup", (event) => {
    pointers.delete(event.pointerId);
    if (!begun || begun.moved || panel.tap(...place(event))) return;
    const found = panel.at(...place(event));
    selected = found && found.selected;
    draw();
    tell(found && found.lines, event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => selected || tell(null));
  canvas.addEventListener("dblclick", (event) => zoom(0.5, panel, ...place(event)));
  canvas.addEventListener("wheel", (event) => {
    const scrolls = document.documentElement.scrollHeight > innerHeight + 2;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(Math.sign(event.deltaX || event.deltaY) * 0.1);
    else if (event.ctrlKey || !scrolls) zoom(event.deltaY > 0 ? 1.25 : 0.8, panel, ...place(event));
    else return;
    event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Home: [-Infinity, 0], End: [Infinity, 0] }[event.key];
    if (step) panel.go(...step);
    else if (event.key === "+" || event.key === "=") zoom(0.7);
    else if (event.key === "-") zoom(1.4);
    else if (event.key === "0") reset();
    else if (event.key === "Escape") selected = null, tell(null), draw();
    else return;
    event.preventDefault();
  });
}

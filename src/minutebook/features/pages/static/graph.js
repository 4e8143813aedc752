// The drawing of the graph: begins in its middle, is dragged, and grows in place. All of it may be missing.
"use strict";

const drawing = () => document.querySelector(".drawing");

// Shows the thing that was opened last, or the one in the middle, in the middle of what is seen.
function centre(id) {
  const box = drawing();
  if (!box) return;
  if (box.dataset.drawing) {
    drawSheet(box, id);
    return;
  }
  const thing = (id && box.querySelector(`a[data-grow="${CSS.escape(id)}"]`)) || box.querySelector("a.middle");
  const mark = thing?.querySelector("circle, rect");
  if (!mark) return;
  const at = mark.getBoundingClientRect();
  const around = box.getBoundingClientRect();
  box.scrollLeft += at.x + at.width / 2 - around.x - around.width / 2;
  box.scrollTop += at.y + at.height / 2 - around.y - around.height / 2;
}

async function grow(address, id, isDrawn) {
  let answer = null;
  try {
    answer = await fetch(address, { headers: { "HX-Request": "true" } });
  } catch {
    // Without an answer the browser says what is wrong.
  }
  if (!answer?.ok) {
    location.assign(address);
    return;
  }
  document.getElementById("graph").outerHTML = await answer.text();
  history.pushState({}, "", address);
  centre(id);
  if (isDrawn) drawing().focus({ preventScroll: true });
  else document.querySelector(".steps a[data-grow], .kind a")?.focus({ preventScroll: true });
}

let dragged = null;

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("#graph a[data-grow]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  grow(link.getAttribute("href"), link.dataset.grow, link instanceof SVGElement);
});

document.addEventListener("pointerdown", (event) => {
  const box = event.target.closest?.(".drawing");
  if (!box || event.pointerType !== "mouse" || event.target.closest("a")) return;
  dragged = { box, x: event.clientX + box.scrollLeft, y: event.clientY + box.scrollTop };
});
document.addEventListener("pointermove", (event) => {
  if (!dragged) return;
  dragged.box.scrollLeft = dragged.x - event.clientX;
  dragged.box.scrollTop = dragged.y - event.clientY;
});
document.addEventListener("pointerup", () => { dragged = null; });
addEventListener("popstate", () => location.reload());

// Many things are drawn on tiles of canvas, each once when it comes near what is seen: scrolling draws nothing.

const TILE = 256, NEAR = 512, FAR = 1536, LABEL = 185;
const LINES = { relation: ["--graph", 0.7, 1.5], link: ["--lexical", 0.7, 1], mention: ["--soft", 0.35, 1] };

async function drawSheet(box, id) {
  let answer = null;
  try {
    answer = await fetch(box.dataset.drawing);
  } catch {
    // The list beside it says the same.
  }
  if (!answer?.ok) return;
  const told = await answer.json();
  const sheet = box.querySelector(".sheet");
  const [left, top, width, height] = told.frame;
  sheet.style.width = `${width}px`;
  sheet.style.height = `${height}px`;
  const things = told.things.map(([name, label, x, y, marks]) => {
    return { id: name, label, x: x - left, y: y - top, flips: x < 0, isEntity: marks[0] === "e", isOpened: marks.includes("o"), hasEnded: marks.endsWith("e") && marks.length > 1, isMiddle: name === box.dataset.at };
  });
  const drawn = { box, sheet, things, lines: told.lines, tiles: new Map(), waits: false };
  const wanted = things.find((each) => each.id === id) ?? things[0];
  box.scrollLeft = wanted.x - box.clientWidth / 2;
  box.scrollTop = wanted.y - box.clientHeight / 2;
  const tendSoon = () => {
    if (drawn.waits) return;
    drawn.waits = true;
    requestAnimationFrame(() => {
      drawn.waits = false;
      if (tend(drawn, 1)) tendSoon();
    });
  };
  box.addEventListener("scroll", tendSoon, { passive: true });
  new ResizeObserver(tendSoon).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    sheet.replaceChildren();
    drawn.tiles.clear();
    tendSoon();
  });
  sheet.addEventListener("mousemove", (event) => {
    const under = thingAt(drawn, event);
    sheet.style.cursor = under ? "pointer" : "";
    sheet.title = under?.label ?? "";
  });
  let pressed = null;
  sheet.addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
  sheet.addEventListener("click", (event) => {
    const hasMoved = pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) > 4;
    const under = hasMoved ? null : thingAt(drawn, event);
    if (under) grow(grownAddress(box, under), under.id, true);
  });
  tend(drawn, Infinity);
}

// Paints some of the tiles that are missing near what is seen, nearest first; tells whether any are left.
function tend({ box, sheet, things, lines, tiles }, most) {
  const x = box.scrollLeft, y = box.scrollTop, width = box.clientWidth, height = box.clientHeight;
  for (const [key, canvas] of tiles) {
    const [atX, atY] = key.split(",").map((part) => part * TILE);
    if (atX > x - FAR && atX < x + width + FAR && atY > y - FAR && atY < y + height + FAR) continue;
    canvas.remove();
    tiles.delete(key);
  }
  const missing = [];
  for (let column = Math.max(0, Math.floor((x - NEAR) / TILE)); column * TILE < Math.min(x + width + NEAR, sheet.offsetWidth); column++) {
    for (let row = Math.max(0, Math.floor((y - NEAR) / TILE)); row * TILE < Math.min(y + height + NEAR, sheet.offsetHeight); row++) {
      const far = Math.hypot((column + 0.5) * TILE - x - width / 2, (row + 0.5) * TILE - y - height / 2);
      if (!tiles.has(`${column},${row}`)) missing.push([far, column, row]);
    }
  }
  missing.sort((a, b) => a[0] - b[0]);
  for (const [, column, row] of missing.slice(0, most)) {
    const canvas = document.createElement("canvas");
    canvas.style.left = `${column * TILE}px`;
    canvas.style.top = `${row * TILE}px`;
    paint(canvas, things, lines, column * TILE, row * TILE);
    sheet.append(canvas);
    tiles.set(`${column},${row}`, canvas);
  }
  return missing.length > most;
}

// The address that opens a thing or closes it again; the middle closes all.
function grownAddress(box, thing) {
  const asked = new URL(box.dataset.drawing, location.href).searchParams;
  const opened = (asked.get("open") ?? "").split(",").filter(Boolean);
  const left = opened.filter((each) => each !== thing.id);
  const now = thing.isMiddle ? [] : left.length < opened.length ? left : [...opened, thing.id];
  asked.delete("open");
  if (now.length) asked.set("open", now.join(","));
  return `/graph?${asked}`;
}

function thingAt({ sheet, things }, event) {
  const around = sheet.getBoundingClientRect();
  const x = event.clientX - around.x, y = event.clientY - around.y;
  let best = null, least = Infinity;
  for (const each of things) {
    const along = each.flips ? each.x - x : x - each.x, beside = y - each.y;
    if (Math.abs(beside) > 9 || along < -9 || along > 12 + each.label.length * 7.5) continue;
    const distance = Math.abs(beside) + (along > 12 ? 1 : 0);
    if (distance < least) [best, least] = [each, distance];
  }
  return best;
}

// Whether a line may cross a tile: its box meets the tile, and it passes near the tile's middle.
function crosses(a, b, x, y) {
  if (Math.max(a.x, b.x) < x || Math.min(a.x, b.x) > x + TILE || Math.max(a.y, b.y) < y || Math.min(a.y, b.y) > y + TILE) return false;
  const dx = b.x - a.x, dy = b.y - a.y;
  return Math.abs(dx * (a.y - y - TILE / 2) - dy * (a.x - x - TILE / 2)) <= 0.75 * TILE * Math.hypot(dx, dy);
}

function paint(canvas, things, lines, x, y) {
  const width = TILE, height = TILE, scale = devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(TILE * scale);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name);
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, -x * scale, -y * scale);
  for (const [kind, [name, alpha, wide]] of Object.entries(LINES)) {
    pen.beginPath();
    for (const [from, to, of] of lines) {
      const a = things[from], b = things[to];
      if (of === kind && crosses(a, b, x, y)) {
        pen.moveTo(a.x, a.y);
        pen.lineTo(b.x, b.y);
      }
    }
    pen.strokeStyle = colour(name);
    // Where they are many they fade, so that they make no wall.
    pen.globalAlpha = alpha * Math.min(1, Math.sqrt(200 / lines.length));
    pen.lineWidth = wide;
    pen.stroke();
  }
  pen.globalAlpha = 1;
  const colours = { ink: colour("--ink"), soft: colour("--soft"), paper: colour("--raised"), entity: colour("--graph"), memory: colour("--vector"), ended: colour("--rest") };
  const font = `14px ${getComputedStyle(document.body).fontFamily}`;
  let inUse = "";
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.textBaseline = "middle";
  for (const each of things) {
    if (each.x < x - LABEL || each.x > x + width + LABEL || each.y < y - LABEL || each.y > y + height + LABEL) continue;
    pen.fillStyle = each.hasEnded ? colours.ended : each.isEntity ? colours.entity : colours.memory;
    pen.beginPath();
    if (each.isEntity) pen.arc(each.x, each.y, each.isOpened ? 9 : 6, 0, 2 * Math.PI);
    else pen.rect(each.x - 5, each.y - 5, 10, 10);
    pen.fill();
    const face = each.isOpened ? `bold ${font}` : font;
    // Setting it costs more than a label does.
    if (face !== inUse) pen.font = inUse = face;
    pen.textAlign = each.isMiddle ? "center" : each.flips ? "right" : "left";
    const atX = each.x + (each.isMiddle ? 0 : each.flips ? -12 : 12), atY = each.y + (each.isMiddle ? 22 : 0);
    pen.strokeStyle = colours.paper;
    pen.strokeText(each.label, atX, atY);
    pen.fillStyle = each.hasEnded ? colours.soft : colours.ink;
    pen.fillText(each.label, atX, atY);
  }
}

centre("");

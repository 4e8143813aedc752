// The drawing of the graph: begins in its middle, is dragged, and grows in place. All of it may be missing.
"use strict";

const drawing = () => document.querySelector(".drawing");

// Shows the thing that was opened last, or the one in the middle, in the middle of what is seen.
function centre(id) {
  const box = drawing();
  if (!box) return;
  const thing = (id && box.querySelector(`a[data-grow="${CSS.escape(id)}"]`)) || box.querySelector("a.middle");
  const mark = thing?.querySelector("circle, rect");
  if (!mark) return;
  const at = mark.getBoundingClientRect();
  const around = box.getBoundingClientRect();
  box.scrollLeft += at.x + at.width / 2 - around.x - around.width / 2;
  box.scrollTop += at.y + at.height / 2 - around.y - around.height / 2;
}

async function grow(link, event) {
  const address = link.getAttribute("href");
  const isDrawn = link instanceof SVGElement;
  event.preventDefault();
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
  centre(link.dataset.grow);
  if (isDrawn) drawing().focus({ preventScroll: true });
  else document.querySelector(".steps a[data-grow], .kind a")?.focus({ preventScroll: true });
}

let dragged = null;

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("#graph a[data-grow]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  grow(link, event);
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

centre("");

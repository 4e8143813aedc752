// What the pages do beyond links and forms: local times, and keys. All of it may be missing.
"use strict";

const shortTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

function showLocalTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]:not([data-local])")) {
    const instant = new Date(time.dateTime);
    time.dataset.local = "";
    if (Number.isNaN(instant.valueOf())) continue;
    time.textContent = shortTime.format(instant);
    time.title = `${exactTime.format(instant)} · ${time.dateTime}`;
  }
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

// The arrow keys lead from the field through the hits and back.
function moveAmongHits(event) {
  const hits = [...document.querySelectorAll(".hit h3 a")];
  const field = document.getElementById("q");
  const place = hits.indexOf(document.activeElement);
  if (place < 0 && document.activeElement !== field) return;
  const next = place + (event.key === "ArrowDown" ? 1 : -1);
  if (next >= hits.length || next < -1) return;
  event.preventDefault();
  (next < 0 ? field : hits[next])?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && !isTyping(event.target)) {
    const field = document.getElementById("q");
    if (field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    moveAmongHits(event);
  }
});

document.addEventListener("htmx:afterSwap", (event) => showLocalTimes(event.target));
showLocalTimes(document);

// The address holds only what was asked for.
document.addEventListener("htmx:configRequest", (event) => {
  const fields = event.detail.formData;
  for (const [name, value] of [...fields.entries()]) {
    if (value === "" || (name === "in" && value === "all")) fields.delete(name);
  }
});

// What the pages do beyond links and forms: local times, and keys. All of it may be missing.
"use strict";

// Times are written in the page's language, as its person's country does if the browser names one.
const language = document.documentElement.lang;
const locale = navigator.languages.find((each) => each.split("-")[0] === language) ?? language;
const shortTime = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
const clockTime = new Intl.DateTimeFormat(locale, { timeStyle: "short" });
const weekdayTime = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" });
const exactTime = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

function showLocalTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]:not([data-local])")) {
    const instant = new Date(time.dateTime);
    time.dataset.local = "";
    if (Number.isNaN(instant.valueOf())) continue;
    if (!("age" in time.dataset)) time.textContent = ("weekday" in time.dataset ? weekdayTime : "clock" in time.dataset ? clockTime : shortTime).format(instant);
    time.title = `${exactTime.format(instant)} · ${time.dateTime}`;
  }
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

// The arrow keys lead from the field through the hits and back.
function moveAmongHits(event) {
  const hits = [...document.querySelectorAll(".hit h3 a")].filter((each) => each.offsetParent);
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
    chooseAmongBoxes(event);
  } else if (event.key === "a") {
    chooseAmongBoxes(event);
  }
});

// In a list where many are chosen at once the arrow keys move among the boxes, and A chooses all.
function chooseAmongBoxes(event) {
  const boxes = [...document.querySelectorAll("[data-review] .hit input[type=checkbox]")];
  const isElsewhere = isTyping(event.target) && event.target.type !== "checkbox";
  if (!boxes.length || isElsewhere) return;
  document.querySelector("details.many").open = true;
  if (event.key === "a") {
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
    return;
  }
  const step = event.key === "ArrowDown" ? 1 : -1;
  const next = boxes[boxes.indexOf(document.activeElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

document.addEventListener("htmx:afterSwap", (event) => showLocalTimes(event.target));
showLocalTimes(document);

// The address holds only what was asked for.
document.addEventListener("htmx:configRequest", (event) => {
  const fields = event.detail.formData;
  for (const [name, value] of [...fields.entries()]) {
    if (value === "" || (name === "in" && value === "all")) fields.delete(name);
  }
});

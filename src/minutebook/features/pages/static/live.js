// Activity as it happens: new entries come to the top of the list. All of it may be missing.
"use strict";

(() => {
  const line = document.getElementById("live");
  const list = document.getElementById("entries");
  if (!line || !list || !window.EventSource) return;
  const badge = line.querySelector("span");
  const button = line.querySelector("button");
  const pause = button.textContent;
  const most = 1000;
  let mark = line.dataset.mark;
  let source = null;
  let isPaused = false;

  function say(text, isGood) {
    if (badge.textContent !== text) badge.textContent = text;
    badge.className = isGood ? "badge good" : "badge bad";
  }

  function show(event) {
    if (event.lastEventId) mark = event.lastEventId;
    document.querySelector("main .nothing")?.remove();
    const added = document.createElement("ol");
    added.innerHTML = event.data;
    const known = new Set([...list.children].map((each) => each.dataset.entry));
    for (const entry of [...added.children].reverse()) {
      if (known.has(entry.dataset.entry)) continue;
      entry.classList.add("new");
      list.prepend(entry);
    }
    while (list.children.length > most) list.lastElementChild.remove();
    showLocalTimes(list);
    if (event.type === "cut") say(line.dataset.cut, false);
  }

  function open() {
    if (source || isPaused || document.hidden) return;
    const address = new URL(line.dataset.live, location.href);
    address.searchParams.set("after", mark);
    source = new EventSource(address);
    source.addEventListener("open", () => say(line.dataset.on, true));
    source.addEventListener("message", show);
    source.addEventListener("cut", show);
    source.addEventListener("error", () => {
      // The browser comes back by itself, unless it was told not to.
      if (source?.readyState === EventSource.CLOSED) say(line.dataset.off, false);
    });
  }

  function close() {
    source?.close();
    source = null;
  }

  button.addEventListener("click", () => {
    isPaused = !isPaused;
    button.textContent = isPaused ? line.dataset.resume : pause;
    if (isPaused) {
      close();
      say(line.dataset.paused, false);
    } else open();
  });
  // A page that nobody looks at holds no connection; it catches up when it is looked at.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  line.hidden = false;
  open();
})();

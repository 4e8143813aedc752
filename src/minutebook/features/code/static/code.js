// The projects of code as their indices get on. All of it may be missing.
"use strict";

(() => {
  let source = null;

  function list() {
    return document.getElementById("projects");
  }

  function open() {
    if (source || document.hidden || !list() || !window.EventSource) return;
    const address = new URL(list().dataset.live, location.href);
    address.searchParams.set("state", list().dataset.state);
    source = new EventSource(address);
    source.addEventListener("message", (event) => {
      if (!list()) return;
      // Who stands on a link stays on it.
      const place = [...list().querySelectorAll("a")].indexOf(document.activeElement);
      list().innerHTML = event.data;
      list().dataset.state = event.lastEventId;
      showLocalTimes(list());
      if (place >= 0) list().querySelectorAll("a")[place]?.focus({ preventScroll: true });
    });
  }

  function close() {
    source?.close();
    source = null;
  }

  // A page that nobody looks at holds no connection; nor does one whose projects gave way to hits.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  document.addEventListener("htmx:afterSwap", () => (list() ? open() : close()));
  addEventListener("pagehide", close);
  open();
})();

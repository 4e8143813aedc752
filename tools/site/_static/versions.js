// Offer the other versions of the site, which stand in folders beside this one's.
"use strict";
(async () => {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const parts = root.pathname.split("/");
  const here = parts[parts.length - 2];
  const answer = await fetch(new URL("../versions.json", root)).catch(() => null);
  if (!answer?.ok) return; // Opened from a folder, or made by itself: there is one version.
  const versions = await answer.json();
  if (versions.length < 2) return;
  for (const shown of document.querySelectorAll(".versions")) {
    const select = shown.querySelector("select");
    for (const version of versions) {
      select.add(new Option(version, version, false, version === here));
    }
    select.addEventListener("change", () => {
      location.href = new URL(`../${select.value}/index.html`, root).href;
    });
    shown.hidden = false;
  }
})();

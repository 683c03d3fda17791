// Picks two runs of the chart to compare them.

import { shorten } from "./tooltip_text.js";

// Returns a function that picks a run, and one that tells whether a click on a run picks it instead of opening it.
export function makePicker(root) {
  const button = root.querySelector("[data-pick]");
  const message = root.querySelector("[data-picked]");
  let on = false, first = null;
  if (!button) return { active: () => false, pick: () => {} }; // a page without a service has no runs to compare

  function set(active) {
    on = active;
    first = null;
    button.setAttribute("aria-pressed", String(on));
    message.hidden = !on;
    message.textContent = on ? "Pick the first of two runs." : "";
  }

  function pick(run) {
    if (!run) return;
    if (!on) set(true);
    if (!first || first.url === run.url) {
      first = run;
      message.textContent = `Picked ${run.commit} ${shorten(run.title, 60)}, ${run.text}. Pick the other run.`;
      return;
    }
    const [base, head] = [first, run].sort((one, other) => one.x - other.x).map((one) => one.url.split("/").pop());
    const to = new URL(root.dataset.compare, location.href);
    to.search = new URLSearchParams({ base: `run:${base}`, head: `run:${head}` });
    location.assign(to);
  }

  button.addEventListener("click", () => set(!on));
  root.addEventListener("keydown", (event) => { if (event.key === "Escape" && on) set(false); });
  return { pick, active: () => on };
}

// Keyboard shortcuts for the list of events, and filters that apply at once. The forms also work without this file.

const list = () => document.querySelector("[data-inbox]");
const rows = () => [...document.querySelectorAll("[data-inbox] li.inbox-row")];
const box = (row) => row?.querySelector("input[name=event]");
let current = -1;

function go(to) {
  const all = rows();
  if (!all.length) return;
  all[current]?.classList.remove("current");
  current = Math.min(Math.max(to, 0), all.length - 1);
  all[current].classList.add("current");
  all[current].querySelector("a.title").focus();
  all[current].scrollIntoView({ block: "nearest" });
}

// Prepares an action for the selected events, or for the current one; the reader has to submit the form.
function prepare(action, field) {
  const form = list();
  if (!form?.elements?.action) return; // a reader who may not decide has a list without a form
  if (!rows().some((row) => box(row)?.checked) && box(rows()[current])) box(rows()[current]).checked = true;
  form.elements.action.value = action;
  form.elements[field].focus();
}

const keys = {
  j: () => go(current + 1),
  k: () => go(current - 1),
  x: () => { if (box(rows()[current])) box(rows()[current]).checked = !box(rows()[current]).checked; },
  e: () => prepare("expect", "reason"),
  s: () => prepare("snooze", "until"),
  "?": () => document.querySelector(".inbox .keys")?.scrollIntoView({ block: "center" }),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea");
  if (event.key === "Escape" && typing) typing.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

document.addEventListener("change", (event) => {
  const form = event.target.closest?.("[data-filters]");
  if (form) form.requestSubmit();
});

// Keeps the selection and the current event when the page reloads its content.
let chosen = [];
let at = "";
const title = (row) => row?.querySelector("a.title")?.id ?? "";
document.addEventListener("htmx:beforeSwap", () => {
  chosen = rows().map(box).filter((input) => input?.checked).map((input) => input.value);
  at = title(rows()[current]);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const row of rows()) if (chosen.includes(box(row)?.value)) box(row).checked = true;
  current = rows().findIndex((row) => title(row) === at && at !== "");
  rows()[current]?.classList.add("current");
});

// Keyboard shortcuts for the list of events, and filters that apply at once. The forms also work without this file.

const findList = () => document.querySelector("[data-inbox]");
const listRows = () => [...document.querySelectorAll("[data-inbox] li.inbox-row")];
const findCheckbox = (row) => row?.querySelector("input[name=event]");
let current = -1;

function goToRow(to) {
  const all = listRows();
  if (!all.length) return;
  all[current]?.classList.remove("current");
  current = Math.min(Math.max(to, 0), all.length - 1);
  all[current].classList.add("current");
  all[current].querySelector("a.title").focus();
  all[current].scrollIntoView({ block: "nearest" });
}

// Prepares an action for the selected events, or for the current one; the reader has to submit the form.
function prepareAction(action, field) {
  const form = findList();
  if (!form?.elements?.action) return; // a reader who may not decide has a list without a form
  if (!listRows().some((row) => findCheckbox(row)?.checked) && findCheckbox(listRows()[current])) findCheckbox(listRows()[current]).checked = true;
  form.elements.action.value = action;
  form.elements[field].focus();
}

const keys = {
  j: () => goToRow(current + 1),
  k: () => goToRow(current - 1),
  x: () => { if (findCheckbox(listRows()[current])) findCheckbox(listRows()[current]).checked = !findCheckbox(listRows()[current]).checked; },
  e: () => prepareAction("expect", "reason"),
  s: () => prepareAction("snooze", "until"),
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
const getTitle = (row) => row?.querySelector("a.title")?.id ?? "";
document.addEventListener("htmx:beforeSwap", () => {
  chosen = listRows().map(findCheckbox).filter((input) => input?.checked).map((input) => input.value);
  at = getTitle(listRows()[current]);
});
document.addEventListener("htmx:afterSwap", () => {
  for (const row of listRows()) if (chosen.includes(findCheckbox(row)?.value)) findCheckbox(row).checked = true;
  current = listRows().findIndex((row) => getTitle(row) === at && at !== "");
  listRows()[current]?.classList.add("current");
});

// Adds times in the reader's zone and copy buttons to every page, also to content that htmx loads later.

const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function prepareContent(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.dateTime);
    if (!Number.isNaN(moment.valueOf())) element.textContent = format.format(moment);
  }
  if (!navigator.clipboard) return; // No clipboard without HTTPS or localhost: the text can still be selected.
  // An element that stays when the page reloads its content is prepared already.
  for (const button of root.querySelectorAll("button[data-copy]:not([data-prepared])")) {
    button.dataset.prepared = "";
    button.hidden = false;
    button.addEventListener("click", () => copyText(button));
  }
}

async function copyText(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

// Keeps sections open or closed as the reader has left them, and what the reader has typed or chosen in forms, when the page
// reloads its content.
let unfolded = new Map(), filled = [], focused = null;
const listFields = (root) => [...root.querySelectorAll("form :is(input, select, textarea)")];
const isBox = (field) => ["checkbox", "radio"].includes(field.type);
const buildKey = (field) => JSON.stringify([field.form?.getAttribute("aria-label"), field.name, isBox(field) ? field.value : ""]);

// The sections by their summaries; those with the same summary are numbered.
function listSections(root) {
  const found = new Map();
  for (const details of root.querySelectorAll("details")) {
    const summary = details.querySelector("summary").textContent.trim();
    let number = 1;
    while (found.has(`${number} ${summary}`)) number += 1;
    found.set(`${number} ${summary}`, details);
  }
  return found;
}

function isChanged(field) {
  if (isBox(field)) return field.checked !== field.defaultChecked;
  if (field.options) return [...field.options].some((option) => option.selected !== option.defaultSelected);
  return field.value !== field.defaultValue;
}

function readState(field) {
  if (isBox(field)) return field.checked;
  return field.options ? [...field.selectedOptions].map((option) => option.value) : field.value;
}

function restoreState(field, state) {
  if (isBox(field)) field.checked = state;
  else if (field.options) for (const option of field.options) option.selected = state.includes(option.value);
  else field.value = state;
}

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  unfolded = new Map([...listSections(detail.target)].map(([summary, details]) => [summary, details.open]));
  filled = listFields(detail.target).filter((field) => field.type !== "hidden" && isChanged(field)).map((field) => [buildKey(field), readState(field)]);
  const field = listFields(detail.target).find((one) => one === document.activeElement);
  focused = field ? [buildKey(field), field.selectionStart, field.selectionEnd] : null;
});
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const root = detail.elt;
  for (const [summary, details] of listSections(root)) details.open = unfolded.get(summary) ?? details.open;
  const states = new Map(filled);
  for (const field of listFields(root)) {
    if (states.has(buildKey(field))) restoreState(field, states.get(buildKey(field)));
    if (focused?.[0] !== buildKey(field)) continue;
    field.focus();
    if (field.selectionStart !== null && field.setSelectionRange) field.setSelectionRange(focused[1], focused[2]);
  }
  prepareContent(root);
});

prepareContent(document);

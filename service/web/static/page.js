// Adds times in the reader's zone and copy buttons to every page, also to content that htmx loads later.

const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function prepare(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.dateTime);
    if (!Number.isNaN(moment.valueOf())) element.textContent = format.format(moment);
  }
  if (!navigator.clipboard) return; // No clipboard without HTTPS or localhost: the text can still be selected.
  for (const button of root.querySelectorAll("button[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
}

// Keeps sections open that the reader has unfolded when the page reloads its content.
let opened = [];
const name = (details) => details.querySelector("summary").textContent.trim();
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  opened = [...detail.target.querySelectorAll("details[open]")].map(name);
});
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const root = detail.elt;
  for (const details of root.querySelectorAll("details")) if (opened.includes(name(details))) details.open = true;
  prepare(root);
});

prepare(document);

// What every page gets on top of its HTML: times in the reader's zone, and copy buttons.

const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

for (const element of document.querySelectorAll("time[datetime]")) {
  const moment = new Date(element.dateTime);
  if (!Number.isNaN(moment.valueOf())) element.textContent = format.format(moment);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  if (!navigator.clipboard) continue; // No clipboard without HTTPS or localhost: the text can still be selected.
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

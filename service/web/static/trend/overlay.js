// The form that lays other series over the chart: a search in its list, and a view that stays when it is sent.

export function prepareOverlayForm(root, address, windowNames) {
  const form = root.querySelector(".over form");
  if (!form) return;
  const list = form.elements.with;
  const options = [...list.options];
  const search = form.querySelector("[type=search]");
  if (search) search.parentElement.hidden = false; // without this script it would do nothing
  search?.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren(...options.filter(({ selected, text }) => selected || words.every((word) => text.toLowerCase().includes(word))));
  });
  // Enter in the search box chooses nothing yet.
  search?.addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
  form.addEventListener("formdata", ({ formData }) => {
    // Other series bring other commits, so a window of commits is meaningless afterwards; one of times is not.
    const names = address.searchParams.get("x") === "time" ? ["x", "y", ...windowNames] : ["y"];
    for (const name of names) if (address.searchParams.has(name)) formData.set(name, address.searchParams.get(name));
  });
}

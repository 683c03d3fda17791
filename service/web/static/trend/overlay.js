// The form and the links that lay other series over the chart: a search in the list, and a view that stays.

export function prepareOverlayForm(root, address, windowNames) {
  // Other series bring other commits, so a window of commits is meaningless afterwards; one of times is not.
  const kept = () => (address.searchParams.get("x") === "time" ? ["x", "y", ...windowNames] : ["y"])
    .filter((name) => address.searchParams.has(name))
    .map((name) => [name, address.searchParams.get(name)]);
  for (const link of root.querySelectorAll("a[data-overlays]")) {
    link.addEventListener("click", () => {
      const to = new URL(link.href);
      for (const [name, value] of kept()) to.searchParams.set(name, value);
      link.href = to;
    });
  }
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
    for (const [name, value] of kept()) formData.set(name, value);
  });
}

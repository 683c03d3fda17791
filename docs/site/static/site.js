// What the theme leaves out for people without a mouse or without sight: names of its two side bars, focus for what
// scrolls, and a title of the search page.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Site");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "Contents of this page");
  for (const box of document.querySelectorAll("pre, .table-wrapper")) box.tabIndex = 0;
  if (!document.querySelector("h1")) {
    const title = document.createElement("h1");
    title.textContent = "Search";
    document.querySelector("article").prepend(title);
  }
});

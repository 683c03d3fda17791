// What the theme leaves out for people without a mouse or without sight: names of its two side bars, and focus for what
// scrolls.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "Site");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "Contents of this page");
  for (const box of document.querySelectorAll("pre, .table-wrapper")) box.tabIndex = 0;
});

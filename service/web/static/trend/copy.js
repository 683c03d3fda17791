// Copies the chart as a picture: the server draws it as it is seen, because a page elsewhere cannot run these scripts.

// The address of the picture: the parameters of the page, and the theme of the reader.
export function pictureAddress(root, address) {
  const picture = new URL(root.dataset.picture, location.href);
  picture.search = address.search;
  if (matchMedia("(prefers-color-scheme: dark)").matches) picture.searchParams.set("theme", "dark");
  return picture;
}

export function copying(root, picture) {
  const link = root.querySelector("[data-copy]");
  const told = link.querySelector("[data-told]");
  link.addEventListener("click", async (event) => {
    if (!navigator.clipboard?.write || event.ctrlKey || event.metaKey) {
      link.href = picture(); // Without a clipboard, which browsers offer to secure pages only, the link opens the picture.
      return;
    }
    event.preventDefault();
    try {
      // The promise, not its result: Safari allows a copy only during the click itself.
      const image = fetch(picture()).then((answer) => answer.blob());
      await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
      told.textContent = "Copied";
    } catch {
      location.assign(picture());
    }
    setTimeout(() => { told.textContent = "Copy picture"; }, 2000);
  });
}

// Copies the visible chart as a picture, with a title above it.

import { theme } from "./theme.js";

const HEADING = 32; // pixels of the page

function drawPicture(canvas) {
  const { card, text, font } = theme();
  const scale = canvas.width / canvas.clientWidth;
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height + HEADING * scale;
  const pen = copy.getContext("2d");
  pen.fillStyle = card;
  pen.fillRect(0, 0, copy.width, copy.height);
  pen.fillStyle = text;
  pen.font = `bold ${14 * scale}px ${font}`;
  pen.fillText(document.title, 8 * scale, 21 * scale, copy.width - 16 * scale);
  pen.drawImage(canvas, 0, HEADING * scale);
  return copy;
}

// Makes the button copy the chart, or download it if the browser refuses to copy.
export function prepareCopyButton(root, canvas) {
  const button = root.querySelector("[data-copy-chart]");
  const told = button.querySelector("[data-told]");
  button.addEventListener("click", async () => {
    const drawn = drawPicture(canvas);
    try {
      // Pass the promise instead of its result: Safari allows copying only during the click itself.
      const image = new Promise((done) => { drawn.toBlob(done, "image/png"); });
      await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
      told.textContent = "Copied";
    } catch {
      // Browsers offer the clipboard only to secure pages. On other pages, the picture is downloaded.
      Object.assign(document.createElement("a"), { href: drawn.toDataURL(), download: "chart.png" }).click();
    }
    setTimeout(() => { told.textContent = "Copy chart"; }, 2000);
  });
}

// Copies the visible chart as a picture, with lines above it that say what it shows.

import { readTheme } from "./theme.js";

const LINE = 20, MARGIN = 8; // pixels of the page

// The chart below its heading: first the title in bold, then further lines, each a text with its colour.
function drawPicture(canvas, heading) {
  const { card, font } = readTheme();
  const scale = canvas.width / canvas.clientWidth;
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  const top = (heading.length * LINE + MARGIN) * scale;
  copy.height = canvas.height + top;
  const pen = copy.getContext("2d");
  pen.fillStyle = card;
  pen.fillRect(0, 0, copy.width, copy.height);
  for (const [index, { text, colour }] of heading.entries()) {
    pen.fillStyle = colour;
    pen.font = `${index ? "" : "bold "}${14 * scale}px ${font}`;
    pen.fillText(text, MARGIN * scale, (index * LINE + 20) * scale, copy.width - 2 * MARGIN * scale);
  }
  pen.drawImage(canvas, 0, top);
  return copy;
}

// Makes the button copy the chart, or download it if the browser refuses to copy. `describe` returns the heading.
export function prepareCopyButton(root, canvas, describe) {
  const button = root.querySelector("[data-copy-chart]");
  const message = root.querySelector("[data-told]");
  button.addEventListener("click", async () => {
    const drawn = drawPicture(canvas, describe());
    try {
      // Pass the promise instead of its result: Safari allows copying only during the click itself.
      const image = new Promise((done) => { drawn.toBlob(done, "image/png"); });
      await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
      message.textContent = "Copied";
    } catch {
      // Browsers offer the clipboard only to secure pages. On other pages, the picture is downloaded.
      Object.assign(document.createElement("a"), { href: drawn.toDataURL(), download: "chart.png" }).click();
    }
    setTimeout(() => { message.textContent = ""; }, 2000);
  });
}

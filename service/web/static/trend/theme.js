// The current colours and fonts of the style sheet, which a canvas cannot read directly.

const NAMES = ["card", "line", "text", "quiet", "accent", "worse", "better", "plot", "level", "over-1", "over-2", "over-3", "over-4"];

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return { ...colours, font: getComputedStyle(document.body).fontFamily };
}

// The page's colours and fonts, as the style sheet has them now. A canvas cannot read them by itself.

const NAMES = ["card", "line", "text", "quiet", "accent", "worse", "better", "plot", "level", "over-1", "over-2", "over-3", "over-4"];

export function theme() {
  const style = getComputedStyle(document.documentElement);
  const colours = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return { ...colours, font: getComputedStyle(document.body).fontFamily };
}

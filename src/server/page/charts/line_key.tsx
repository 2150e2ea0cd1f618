import { DASHES } from "./colours.ts";
import { SHAPES } from "./markers.ts";

/** How a line is drawn: its colour and shape, which say of what it is, and its dashes, which say of which run. */
export function LineKey({ colour, dash }: { colour: number; dash: number }) {
  return (
    <svg class={`line-key line-${colour}`} viewBox="0 0 32 12" aria-hidden="true">
      <line x1={0} x2={32} y1={6} y2={6} stroke-dasharray={DASHES[dash].join(" ")} />
      <path d={SHAPES[colour]} transform="translate(16 6) scale(9)" />
    </svg>
  );
}

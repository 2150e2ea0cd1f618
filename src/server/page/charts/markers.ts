/** Shapes that tell lines apart without their colours, on the canvas and in legends. */

import type uPlot from "uplot";

/** Of each colour of lines: a circle, a square, a triangle, a diamond; paths around (0, 0), one in size. */
export const SHAPES = [
  "M-0.5 0A0.5 0.5 0 1 1 0.5 0A0.5 0.5 0 1 1 -0.5 0Z",
  "M-0.45 -0.45H0.45V0.45H-0.45Z",
  "M0 -0.58L0.55 0.42H-0.55Z",
  "M0 -0.62L0.62 0L0 0.62L-0.62 0Z",
];

/** Pixels between two of them, so that the line stays what one sees. */
const APART = 48;
/** So few points are all marked: a line of one or two is hard to see. */
const FEW = 25;

/**
 * Draws a line's shape at its points, or at some of them where they are many.
 *
 * @param series from 1
 * @param colour of the line
 * @param size in the canvas' pixels
 */
export function drawMarkers(
  plot: uPlot,
  series: number,
  colour: number,
  fill: string,
  size: number,
) {
  const { ctx, data: [steps, ...columns], bbox } = plot;
  const { min = Infinity, max = -Infinity } = plot.scales.x;
  const values = columns[series - 1];
  const points = [...steps].flatMap((step, place) => {
    const value = values[place];
    return typeof value === "number" && step >= min && step <= max
      ? [[plot.valToPos(step, "x", true), plot.valToPos(value, "y", true)]]
      : [];
  });
  const apart = points.length <= FEW ? 0 : APART * devicePixelRatio;
  // Lines that lie on each other have their shapes beside each other.
  let next = apart === 0 ? -Infinity : bbox.left + series % 4 / 4 * apart;
  const path = new Path2D(SHAPES[colour]);
  ctx.save();
  ctx.fillStyle = fill;
  for (const [left, top] of points) {
    if (left < next) continue;
    next = left + apart;
    ctx.setTransform(size, 0, 0, size, left, top);
    ctx.fill(path);
  }
  ctx.restore();
}

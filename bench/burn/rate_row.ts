import type { ComparedRate } from "../model/pairs.ts";
import type { Unit } from "../shapes.ts";
import { number, ratio, unitNames } from "../table.ts";

const widths = [22, 18, 18, 7];

/** The table's head; speeds above 1 mean that this engine is faster. */
export const burnHead = cells(["", "ours", "burn's", "speed"]);

/** One work as a row. */
export function burnRow({ name, ours, peers }: ComparedRate<"burn">, unit: Unit): string {
  const { burn } = peers;
  const rate = (perSecond: number) =>
    `${number(unit === "tokens_per_second" ? perSecond : perSecond / 1e9)} ${unitNames[unit]}`;
  return cells([name, rate(ours), ...burn ? [rate(burn.rate), ratio(burn.ratio)] : []]);
}

function cells(texts: readonly string[]): string {
  return texts.map((text, i) => i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))
    .join(" ");
}

/** What a run that the page steers has written itself. */

import { join } from "node:path";

/** What a run has written: the lines of one of its logs. */
export function logged<Line>(folder: string, file: string): Line[] {
  const text = Deno.readTextFileSync(join(folder, file));
  // The last line may be half written.
  return text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** A line of metrics.jsonl. */
export type Measured =
  & { readonly step: number; readonly phase: string }
  & Readonly<Record<string, number>>;

/** The steps that trained a policy, in the order in which they were written. */
export function trainedSteps(folder: string): number[] {
  return logged<Measured>(folder, "metrics.jsonl").filter(({ phase }) => phase !== "evaluation")
    .map(({ step }) => step);
}

import { tinyData } from "./tiny_data.ts";

/** Pairs of solutions: what is written, and the same with another answer. */
export const tinyPairs = (count: number, from = 0) =>
  tinyData(count, from).split("\n").map((line) => {
    const { question, solution } = JSON.parse(line);
    const rejected = solution.replace(/<answer>.*<\/answer>/, "<answer>none</answer>");
    return JSON.stringify({ prompt: question, chosen: solution, rejected });
  }).join("\n");

/** Files of 16 pairs to learn from and 8 to measure. */
export function writePairs(path: (name: string) => string) {
  const entry = (name: string, rows: string) => {
    Deno.writeTextFileSync(path(name), rows);
    return [{ path: path(name) }];
  };
  return {
    train: entry("pairs.jsonl", tinyPairs(16)),
    held_out: entry("test.jsonl", tinyPairs(8, 24)),
    validation: entry("validation.jsonl", tinyPairs(8, 16)),
  };
}

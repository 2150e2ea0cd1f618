/** Numbers in order, as a line of a log has them: a number, or a pair of one and how often it comes in a row. */
export type PackedNumbers = readonly (number | readonly [value: number, times: number])[];

/** From here on a pair is not longer than the numbers themselves. */
const SHORTEST_ROW = 3;

/** Packs numbers; what is equal and side by side is written once. */
export function packNumbers(numbers: Iterable<number>): PackedNumbers {
  const rows: [value: number, times: number][] = [];
  for (const number of numbers) {
    const last = rows.at(-1);
    if (last?.[0] === number) last[1]++;
    else rows.push([number, 1]);
  }
  return rows.flatMap((row): PackedNumbers => {
    const [number, times] = row;
    return times >= SHORTEST_ROW ? [row] : Array<number>(times).fill(number);
  });
}

/** The numbers as they were. */
export function unpackNumbers(packed: PackedNumbers): number[] {
  return packed.flatMap((one) => typeof one === "number" ? [one] : Array(one[1]).fill(one[0]));
}

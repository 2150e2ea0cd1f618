import type { TokenOutputs } from "./losses.ts";
import type { Reducer } from "./reducer.ts";
import type { TrainingSequence } from "./sequence.ts";

/** Outputs by sequence. */
export type Found<Outputs extends TokenOutputs> = Map<TrainingSequence, Outputs>;

/**
 * Completes what this process found of its own sequences by what the others found of theirs.
 *
 * @param shares the sequences of each process, the same on all
 * @param columns the names of the outputs, arrays of one number for each prediction
 */
export async function gatherOutputs<Outputs extends TokenOutputs>(
  { rank, size, gather }: Pick<Reducer, "rank" | "size" | "gather">,
  shares: readonly (readonly TrainingSequence[])[],
  columns: readonly (keyof Outputs)[],
  found: Found<Outputs>,
): Promise<void> {
  if (size === 1) return;
  const perProcess = shares.map((sequences) => {
    const predictions = sequences.reduce((sum, { targets }) => sum + targets.length, 0);
    return new Float32Array(predictions * columns.length);
  });
  visit(shares[rank], columns, perProcess[rank], (sequence, column, place) => {
    const outputs = found.get(sequence);
    if (!outputs) throw new Error("a sequence of this process was not computed");
    place.set(outputs[column] as Float32Array);
  });
  await gather(perProcess.map(({ buffer }) => new Uint8Array(buffer)));
  shares.forEach((sequences, r) => {
    if (r === rank) return;
    const named = new Map(
      sequences.map((sequence) => [sequence, {} as Record<keyof Outputs, Float32Array>]),
    );
    visit(sequences, columns, perProcess[r], (sequence, column, place) => {
      const outputs = named.get(sequence);
      if (outputs) outputs[column] = place;
    });
    for (const [sequence, outputs] of named) found.set(sequence, outputs as Outputs);
  });
}

/** Goes through the columns of sequences, which lie one after another. */
function visit<Column>(
  sequences: readonly TrainingSequence[],
  columns: readonly Column[],
  numbers: Float32Array,
  each: (sequence: TrainingSequence, column: Column, place: Float32Array) => void,
): void {
  let end = 0;
  for (const sequence of sequences) {
    for (const column of columns) {
      each(sequence, column, numbers.subarray(end, end += sequence.targets.length));
    }
  }
}

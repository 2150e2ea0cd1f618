import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { SafetensorsFile } from "../../model/weights/safetensors.ts";
import { listCheckpoints } from "../store/checkpoint.ts";
import { fileOf, StoredCheckpoint } from "../store/stored_checkpoint.ts";
import type { TwoRuns } from "./settings_difference.ts";

/** The first tensor of two checkpoints of a step that is not the same. */
export interface WeightsDifference {
  readonly step: number;
  /** Of the models that are trained. */
  readonly model: string;
  /** As the checkpoint names it: `weights.3`, `first_moments.3`. */
  readonly tensor: string;
  /** The first element that is another, from 0, and its values: as text, for JSON has neither -0 nor NaN. */
  readonly element: number;
  readonly a: string;
  readonly b: string;
  /** How many of its elements are others, and of how many. */
  readonly count: number;
  readonly size: number;
}

/** The first difference of the earliest checkpoint that both runs have whole and that is not the same; null for none. */
export function weightsDifference({ a, b }: TwoRuns): WeightsDifference | null {
  const others = new Map(listCheckpoints(b.checkpoints).map(({ step, path }) => [step, path]));
  for (const { step, path } of listCheckpoints(a.checkpoints)) {
    const other = others.get(step);
    if (other === undefined) continue;
    const [first, second] = [path, other].map(digestsOf);
    if (first === null || second === null) continue;
    for (const [model, digest] of Object.entries(first)) {
      if (!(model in second) || digest === second[model]) continue;
      const [one, two] = [path, other].map((place) => join(place, fileOf(model)));
      const found = filesDifference(one, two);
      if (found) return { step, model, ...found };
    }
  }
  return null;
}

/** Null where the checkpoint is damaged: `audit` says how. */
function digestsOf(path: string): StoredCheckpoint["digests"] | null {
  try {
    return new StoredCheckpoint(path).digests;
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

/** Tensors of both files are read piece by piece: neither need fit into memory. */
function filesDifference(
  a: string,
  b: string,
): Omit<WeightsDifference, "step" | "model"> | null {
  using first = SafetensorsFile.open(a);
  using second = SafetensorsFile.open(b);
  for (const [tensor, { begin, end }] of first.entries) {
    const other = second.entries.get(tensor);
    if (other === undefined || other.end - other.begin !== end - begin) continue;
    const found = tensorDifference(first, second, tensor, end - begin);
    if (found) return { tensor, size: (end - begin) / 4, ...found };
  }
  return null;
}

/** Bytes that are read at a time. */
const PIECE = 1 << 24;

function tensorDifference(
  first: SafetensorsFile,
  second: SafetensorsFile,
  tensor: string,
  bytes: number,
): Pick<WeightsDifference, "element" | "a" | "b" | "count"> | null {
  let found: { element: number; a: number; b: number } | null = null;
  let count = 0;
  for (let begin = 0; begin < bytes; begin += PIECE) {
    const length = Math.min(PIECE, bytes - begin);
    const [one, two] = [first, second].map((file) =>
      new Float32Array(file.readBytes(tensor, begin, length).buffer)
    );
    for (let i = 0; i < one.length; i++) {
      if (Object.is(one[i], two[i])) continue;
      count++;
      found ??= { element: begin / 4 + i, a: one[i], b: two[i] };
    }
  }
  return found && { element: found.element, a: said(found.a), b: said(found.b), count };
}

const said = (value: number) => Object.is(value, -0) ? "-0" : String(value);

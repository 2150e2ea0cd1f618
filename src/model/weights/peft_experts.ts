/**
 * Adapters on experts as PEFT keeps them beside transformers 5, which has the matrices of a layer's experts as two tensors,
 * gate and up together and down. Of E experts and rank r:
 *
 *   A [E·n·r, in]     of each expert its rows
 *   B [out, n·r·E]    of each term its E columns, one for each expert
 *
 * n is 2 where gate and up have an A each: B then holds zeros where gate's rows meet up's terms and the other way round.
 */

import { UserError } from "../../base/user_error.ts";
import { storedTypes } from "../../kernels/parts/stored_type.ts";
import { kindOf, matricesOf, type ModelConfig } from "../decoder/config.ts";
import {
  type ExpertLoraKey,
  expertLoraKeys,
  type ExpertLoraMatrices,
  expertLoraMatrices,
  loraName,
} from "../decoder/expert_lora.ts";
import type { LoraConfig } from "../decoder/lora.ts";
import { moduleNames } from "../decoder/names.ts";
import type { NamedTensor, Parameters } from "../decoder/parameters.ts";
import type { StoredTensor, WeightFile } from "./weight_file.ts";

/** The tensors of a layer's adapter on one of the two, as they lie in memory and in a file. */
interface Fused {
  readonly layer: number;
  /** But for those of an expert that all share, which is a module of its own. */
  readonly matrices: ExpertLoraMatrices;
  readonly experts: number;
  /** n */
  readonly projections: number;
  readonly rank: number;
  /** Rows of B that belong to one projection. */
  readonly rows: number;
  readonly inputs: number;
  readonly name: { readonly A: string; readonly B: string };
}

/** All of an adapter's that are fused in a file. */
function fusedOf(config: ModelConfig, lora: LoraConfig): Fused[] {
  const { experts: module } = moduleNames(config.architecture);
  return Array.from({ length: config.layers }, (_, layer) => {
    const all = expertLoraMatrices(config, lora, layer);
    const { experts: kind } = kindOf(config, layer), experts = kind?.count ?? 0;
    return all.map(({ key, A, B }, index): Fused => {
      const projections = A.length / (kind ? matricesOf(kind) : 1), fused = experts * projections;
      const matrices = { key, A: A.slice(0, fused), B: B.slice(0, fused) };
      // PEFT wraps the module once for each of its tensors, gate and up first.
      const place = index < all.length - 1 ? `${module}.base_layer` : module;
      return {
        ...{ layer, matrices, experts, projections, rank: lora.rank },
        rows: matrices.B[0].shape[0],
        inputs: matrices.A[0].shape[1],
        name: { A: loraName(layer, place, "A"), B: loraName(layer, place, "B") },
      };
    });
  }).flat();
}

const shapesOf = ({ experts, projections, rank, rows, inputs }: Fused) => ({
  A: [experts * projections * rank, inputs],
  B: [projections * rows, projections * rank * experts],
});

/**
 * Where in B a term of a row lies, in elements.
 *
 * @param i projection
 * @param o row of the projection
 * @param t term of the projection
 */
function placeInB(fused: Fused, expert: number, i: number, o: number, t: number): number {
  const { experts, projections, rank, rows } = fused;
  return ((i * rows + o) * projections * rank + i * rank + t) * experts + expert;
}

/**
 * The tensors of an adapter as a file has them.
 *
 * @param parameters of the adapter
 */
export function peftTensors(
  config: ModelConfig,
  lora: LoraConfig,
  parameters: Parameters,
): Map<string, NamedTensor> {
  const tensors = parameters.tensors();
  for (const fused of fusedOf(config, lora)) {
    const { layer, matrices, name } = fused;
    for (const { name } of [...matrices.A, ...matrices.B]) tensors.delete(name);
    const shapes = shapesOf(fused);
    const { a, b } = expertLoraKeys(layer, matrices.key);
    const stacked = parameters.block(b);
    tensors.set(name.A, firstRows(parameters.block(a), shapes.A));
    tensors.set(name.B, {
      shape: shapes.B,
      async *pieces() {
        yield fusedB(fused, await wholeOf(stacked));
      },
    });
  }
  return tensors;
}

/** The first rows of a matrix. @param shape of these */
function firstRows({ pieces }: NamedTensor, shape: readonly number[]): NamedTensor {
  return {
    shape,
    async *pieces() {
      let left = shape.reduce((product, n) => product * n, 1);
      for await (const piece of pieces()) {
        if (left > 0) yield piece.subarray(0, left);
        left -= piece.length;
      }
    },
  };
}

async function wholeOf({ shape, pieces }: NamedTensor): Promise<Float32Array> {
  const whole = new Float32Array(shape.reduce((product, n) => product * n, 1));
  let first = 0;
  for await (const piece of pieces()) {
    whole.set(piece, first);
    first += piece.length;
  }
  return whole;
}

/** @param stacked [E·n·out, r], and what lies behind */
function fusedB(fused: Fused, stacked: Float32Array): Float32Array {
  const { experts, projections, rank, rows } = fused;
  const [height, width] = shapesOf(fused).B;
  const made = new Float32Array(height * width);
  let from = 0;
  for (let expert = 0; expert < experts; expert++) {
    for (let i = 0; i < projections; i++) {
      for (let o = 0; o < rows; o++) {
        const to = placeInB(fused, expert, i, o, 0);
        for (let t = 0; t < rank; t++) made[to + t * experts] = stacked[from++];
      }
    }
  }
  return made;
}

/** Where an expert's tensor is in a fused one. */
interface OfExpert {
  readonly fused: Fused;
  readonly matrix: "A" | "B";
  readonly expert: number;
  readonly projection: number;
}

/**
 * An adapter's file by the names that its tensors have in memory: of experts one by one, as they also stand in files of
 * models whose experts were modules.
 *
 * @throws UserError when a tensor of experts is not there, or has another shape
 */
export function adapterWeights(
  config: ModelConfig,
  lora: LoraConfig,
  file: WeightFile,
): WeightFile {
  const tensors = new Map<string, StoredTensor>(file.tensors);
  const places = new Map<string, OfExpert>();
  for (const fused of fusedOf(config, lora)) {
    const { matrices, name, projections } = fused;
    if (matrices.A.every((one) => file.tensors.has(one.name))) continue;
    const shapes = shapesOf(fused);
    for (const matrix of ["A", "B"] as const) {
      const stored = file.tensors.get(name[matrix]);
      if (!stored) {
        throw new UserError(
          `${file.path}: tensor ${name[matrix]} [${shapes[matrix]}] is missing`,
        );
      }
      if (`${stored.shape}` !== `${shapes[matrix]}`) {
        throw new UserError(
          `${stored.file}: tensor ${
            name[matrix]
          } has shape [${stored.shape}]; the adapter's rank and the model make it ` +
            `[${shapes[matrix]}]`,
        );
      }
      tensors.delete(name[matrix]);
      matrices[matrix].forEach((one, index) => {
        tensors.set(one.name, { ...stored, shape: one.shape });
        places.set(one.name, {
          ...{ fused, matrix, projection: index % projections },
          expert: Math.floor(index / projections),
        });
      });
    }
  }
  if (places.size === 0) return file;
  // Experts of one tensor are read one after the other.
  let last: { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } | null = null;
  const wholeB = (fused: Fused) => {
    const { name: { B: name } } = fused;
    if (last?.name === name) return last.bytes;
    const bytes = readB(file, fused);
    last = { name, bytes };
    return bytes;
  };
  return {
    path: file.path,
    tensors,
    read(name, begin, bytes) {
      const place = places.get(name);
      if (!place) return file.read(name, begin, bytes);
      const { fused, matrix, expert, projection } = place;
      if (matrix === "B") return ofExpert(place, wholeB(fused)).slice(begin, begin + bytes);
      const { rank, inputs, projections } = fused;
      const first = (expert * projections + projection) * rank * inputs *
        widthOf(file, fused.name.A);
      return file.read(fused.name.A, first + begin, bytes);
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

/** Numbers that a file has of a tensor and are no parameters: of B those that are always 0. */
export function zerosOf(
  { targets }: LoraConfig,
  name: string,
  shape: readonly number[],
): number {
  const place = targets.includes("experts.down_proj") ? "experts.base_layer" : "experts";
  const isOfTwo = targets.includes("experts.gate_proj") &&
    name.endsWith(`.${place}.lora_B.weight`);
  return isOfTwo ? shape.reduce((product, n) => product * n, 1) / 2 : 0;
}

/** Bytes of an element. */
function widthOf(file: WeightFile, name: string): number {
  const stored = file.tensors.get(name);
  if (!stored) throw new Error(`${file.path} has no tensor ${name}`);
  const { bytes, elements } = storedTypes[stored.type];
  return bytes / elements;
}

/**
 * The bytes of B.
 *
 * @throws UserError when gate's rows have numbers at up's terms, or the other way round: they are then no adapters of each
 */
function readB(file: WeightFile, fused: Fused): Uint8Array<ArrayBuffer> {
  const { name: { B: name }, projections, rank, rows, experts } = fused;
  const width = widthOf(file, name);
  const terms = projections * rank * experts;
  const bytes = file.read(name, 0, projections * rows * terms * width);
  for (let row = 0; row < (projections > 1 ? projections * rows : 0); row++) {
    const other = 1 - Math.floor(row / rows);
    const first = row * terms + other * rank * experts;
    const strange = bytes.subarray(first * width, (first + rank * experts) * width);
    if (strange.some((byte, i) => byte !== 0 && !(byte === 0x80 && i % width === width - 1))) {
      throw new UserError(
        `${file.path}: ${name} lets gate_proj and up_proj of an expert share terms; with a rank_pattern of twice the rank ` +
          "each has its own",
      );
    }
  }
  return bytes;
}

/** The elements of B that belong to one expert and projection, [rows, rank]. */
function ofExpert(
  { fused, expert, projection }: OfExpert,
  bytes: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const { rank, rows, experts } = fused;
  const [height, columns] = shapesOf(fused).B;
  const width = bytes.length / (height * columns);
  const made = new Uint8Array(rows * rank * width);
  let to = 0;
  for (let o = 0; o < rows; o++) {
    const from = placeInB(fused, expert, projection, o, 0);
    for (let t = 0; t < rank; t++, to += width) {
      const at = (from + t * experts) * width;
      made.set(bytes.subarray(at, at + width), to);
    }
  }
  return made;
}

/** The tensors of transformers' that an adapter on experts names, by what it changes. */
export const fusedParameters: Readonly<Record<ExpertLoraKey, string>> = {
  expertGateUp: "gate_up_proj",
  expertDown: "down_proj",
};

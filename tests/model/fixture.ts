import { join } from "node:path";
import type { Gpu } from "../../src/gpu/gpu.ts";
import type { Model } from "../../src/model/decoder/model.ts";
import { loadModel } from "../../src/model/weights/model_folder.ts";
import type { AdamwNumbers } from "../../src/model/decoder/optimizer.ts";
import { readTensors, type Tensor } from "./safetensors_tensors.ts";
import type { Tolerance } from "../kernels/harness.ts";

/** The random models that PyTorch's numbers were dumped for; see tests/fixtures/README.md. */
export const fixtures = ["llama", "qwen2", "qwen3"] as const;
export type FixtureName = (typeof fixtures)[number];

/** The scalars of reference.json. */
export interface ReferenceScalars {
  readonly sequence_lengths: readonly number[];
  readonly prompt_lengths: readonly number[];
  readonly policy: Readonly<Record<"clip_low" | "clip_high" | "kl_coef" | "entropy_coef", number>>;
  readonly adamw: {
    readonly lr: number;
    readonly betas: readonly [number, number];
    readonly eps: number;
    readonly weight_decay: number;
    readonly max_grad_norm: number;
    readonly steps: number;
  };
  readonly cross_entropy: number;
  readonly k2: PolicyScalars;
  readonly k3: PolicyScalars;
  readonly adamw_losses: readonly number[];
  readonly adamw_grad_norms: readonly number[];
  /** How far float32 PyTorch lies from float64, per group of tensors. */
  readonly float32_error: Readonly<
    Record<string, { readonly max_difference: number; readonly max_magnitude: number }>
  >;
}

interface PolicyScalars {
  readonly loss: number;
  readonly surrogate: number;
  readonly kl: number;
  readonly entropy: number;
  readonly clip_ratio: number;
}

/** What PyTorch computed with one fixture. T packed tokens. */
export class Reference {
  readonly scalars: ReferenceScalars;
  readonly #tensors: Record<string, Tensor>;

  constructor(name: FixtureName) {
    const folder = fixtureFolder(name);
    this.#tensors = readTensors(join(folder, "reference.safetensors"));
    this.scalars = JSON.parse(Deno.readTextFileSync(join(folder, "reference.json")));
  }

  floats(name: string): Float32Array<ArrayBuffer> {
    return this.#tensors[name].data as Float32Array<ArrayBuffer>;
  }

  integers(name: string): Int32Array {
    return this.#tensors[name].data as Int32Array;
  }

  /** The packed sequences, one by one. */
  get sequences(): Uint32Array[] {
    const tokens = Uint32Array.from(this.integers("tokens"));
    const bounds = this.integers("cu_seqlens");
    return Array.from(bounds.subarray(1), (end, s) => tokens.slice(bounds[s], end));
  }

  /** Names of the parameters whose gradients were dumped. */
  get parameters(): string[] {
    return Object.keys(this.#tensors).flatMap((name) =>
      name.startsWith("grad.") ? [name.slice("grad.".length)] : []
    );
  }

  /**
   * The bound for a group of numbers: some multiple of the error that PyTorch itself makes in float32
   * on this computation. A few times it, because sums are formed in another order and the driver's exp,
   * rsqrt and division round more coarsely than the C library's.
   */
  tolerance(group: string, times: number): Tolerance {
    const { max_difference } = this.scalars.float32_error[group];
    return {
      absolute: times * max_difference,
      relative: 0,
      why: `${times} times PyTorch's own float32 error on ${group}, ${
        max_difference.toExponential(1)
      }`,
    };
  }
}

/** The folder of a fixture. */
export function fixtureFolder(name: FixtureName): string {
  return join(import.meta.dirname ?? "", "..", "fixtures", name);
}

/** Opens a fixture's model, runs `body`, and returns its memory. */
export async function withFixture(
  gpu: Gpu,
  name: FixtureName,
  options: { readonly trained: boolean },
  body: (model: Model) => Promise<void>,
): Promise<void> {
  const model = await loadModel(gpu, fixtureFolder(name), options);
  try {
    await body(model);
  } finally {
    model.release();
  }
}

/** The numbers that the ten reference steps were made with. */
export function referenceNumbers({ adamw }: ReferenceScalars): AdamwNumbers {
  return {
    learningRate: adamw.lr,
    betas: adamw.betas,
    epsilon: adamw.eps,
    weightDecay: adamw.weight_decay,
    maxGradientNorm: adamw.max_grad_norm,
  };
}

/** Gradients by Hugging Face name. */
export async function readGradients(model: Model): Promise<Record<string, Float32Array>> {
  const { training } = model.parameters;
  if (!training) throw new Error("the model is frozen");
  return model.parameters.name(await model.gpu.readAll(training.gradients) as Float32Array[]);
}

/** The largest |a - b|. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = a.length === b.length ? 0 : NaN;
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i] - b[i]));
  return largest;
}

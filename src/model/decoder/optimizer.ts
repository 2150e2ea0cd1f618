import type { Tensor } from "../../gpu/tensor.ts";
import { adamw } from "../../kernels/adamw.ts";
import { gradientNorm } from "../../kernels/gradient_norm.ts";
import type { Model } from "./model.ts";
import type { Parameters, TrainingState } from "./parameters.ts";

/** The numbers of one step of AdamW (Loshchilov & Hutter 2019), clipped by the global gradient norm. */
export interface AdamwNumbers {
  readonly learningRate: number;
  /** Decay of the moving averages of the gradient and of its square. */
  readonly betas: readonly [number, number];
  readonly epsilon: number;
  readonly weightDecay: number;
  /** Infinity for no clipping. */
  readonly maxGradientNorm: number;
}

/** What one update did. */
export interface UpdateResult {
  /** Global L2 norm of the gradient before clipping. */
  readonly gradientNorm: number;
  /** Gradient elements that were NaN or infinite. When there are any, nothing was updated. */
  readonly nonFinite: number;
}

/** The optimizer of one model: its step count here, its moments on the GPU. */
export class Optimizer {
  /** Updates made so far; a checkpoint keeps it with the moments, which are the model's `training`. */
  step = 0;
  readonly #parameters: Parameters;
  readonly #state: TrainingState;
  readonly #norm: Tensor;
  readonly #clipScale: Tensor;
  readonly #nonFinite: Tensor;

  /** @throws Error when the model was not made for training */
  constructor(private readonly model: Model) {
    const { trainable } = model;
    if (!trainable?.training) throw new Error("this model was loaded frozen");
    this.#parameters = trainable;
    this.#state = trainable.training;
    this.#norm = model.gpu.tensor([1], "f32", "gradient norm");
    this.#clipScale = model.gpu.tensor([1], "f32", "clip scale");
    this.#nonFinite = model.gpu.tensor([1], "u32", "non-finite gradients");
  }

  /** All gradients, a few flat tensors. */
  get gradients(): readonly Tensor[] {
    return this.#state.gradients;
  }

  /** Sets all gradients to zero. */
  zeroGradients(): void {
    for (const gradient of this.#state.gradients) this.model.gpu.clear(gradient);
  }

  /** Clips the gradients and makes one step; the gradients stay as they are. */
  async update(numbers: AdamwNumbers): Promise<UpdateResult> {
    const { gpu } = this.model;
    const { learningRate, betas: [beta1, beta2], epsilon, weightDecay, maxGradientNorm } = numbers;
    const { gradients, firstMoments, secondMoments } = this.#state;
    const step = this.step + 1;
    const results = { norm: this.#norm, clipScale: this.#clipScale, nonFinite: this.#nonFinite };
    gradientNorm(gpu, gradients, results, maxGradientNorm);
    this.#parameters.weights.forEach((weights, i) => {
      adamw(gpu, {
        parameters: weights,
        gradients: gradients[i],
        firstMoment: firstMoments[i],
        secondMoment: secondMoments[i],
        clipScale: this.#clipScale,
      }, {
        learningRate,
        beta1,
        beta2,
        epsilon,
        weightDecay,
        biasCorrection1: 1 - beta1 ** step,
        biasCorrection2: 1 - beta2 ** step,
      });
    });
    // Said before the result is known: whoever samples meanwhile samples from the new weights.
    this.#parameters.weightsChanged();
    const [norm, nonFinite] = await gpu.readAll([this.#norm, this.#nonFinite]);
    if (nonFinite[0] === 0) this.step = step;
    return { gradientNorm: norm[0], nonFinite: nonFinite[0] };
  }

  /** Returns the GPU memory of what the optimizer itself allocated. */
  release(): void {
    this.model.gpu.release(this.#norm, this.#clipScale, this.#nonFinite);
  }
}

import type { Tensor } from "../../gpu/tensor.ts";
import { adamw } from "../../kernels/optimizer/adamw.ts";
import { unpackHalves } from "../../kernels/products/unpack.ts";
import type { Model } from "./model.ts";
import { AdamwState } from "./adamw_state.ts";
import type { Parameters } from "./parameters.ts";
import { SharedNorm } from "./shared_norm.ts";
import { cutIntoSlices, type Slice, type SliceExchange, sliceOf } from "./slices.ts";

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

/** Result of an update. */
export interface UpdateResult {
  /** Global L2 norm of the gradient before clipping. */
  readonly gradientNorm: number;
  /** Gradient elements that were NaN or infinite. When there are any, nothing was updated. */
  readonly nonFinite: number;
}

/**
 * The optimizer of one model: its step count here, its moments on the GPU. Processes that train the model
 * together share it (ZeRO stage 1, arXiv 1910.02054): each has the moments of its own slices, updates the
 * weights there and receives the others'. Of weights in 16 bits it also has the masters, f32, of its slices: those are
 * updated, and rounded to what the model reads.
 */
export class Optimizer {
  /** Updates made so far; a checkpoint keeps it with the moments. */
  step = 0;
  /** Flat tensors that hold all gradients. */
  readonly gradients: readonly Tensor[];
  /** Slices of weights, gradients and moments alike. */
  readonly slices: readonly Slice[];
  readonly state: AdamwState;
  readonly #parameters: Parameters;
  readonly #norm: SharedNorm;
  /** Whether an update has begun and not come to its end. */
  #isUpdating = false;
  /** The weights of which the masters are. */
  #weightsVersion: number;

  /** @throws Error when the model was not made for training */
  constructor(private readonly model: Model, readonly exchange: SliceExchange) {
    const { gpu, trainable } = model;
    if (!trainable?.gradients) throw new Error("this model was loaded frozen");
    this.#parameters = trainable;
    this.gradients = trainable.gradients;
    this.slices = cutIntoSlices(this.gradients.map(({ size }) => size), exchange.size);
    this.state = new AdamwState(gpu, this.ownSlices, trainable.weights);
    this.#norm = new SharedNorm(gpu, this.slices, exchange);
    this.#weightsVersion = trainable.version;
    for (const slice of this.ownSlices) {
      const master = this.state.of(slice)?.master;
      if (master) unpackHalves(gpu, sliceOf(trainable.weights, slice), master);
    }
  }

  /** Slices that this process updates. */
  get ownSlices(): Slice[] {
    return this.slices.filter(({ owner }) => owner === this.exchange.rank);
  }

  /** Says that weights, and masters where there are some, were written to beside it. */
  weightsTaken(): void {
    this.#parameters.weightsChanged();
    this.#weightsVersion = this.#parameters.version;
  }

  /** Sets all gradients to zero. */
  zeroGradients(): void {
    for (const gradient of this.gradients) this.model.gpu.clear(gradient);
  }

  /**
   * Clips the gradients and makes one step; the gradients stay as they are.
   *
   * @throws Error when an earlier update was cut off by an error
   */
  async update(numbers: AdamwNumbers): Promise<UpdateResult> {
    this.expectWhole();
    this.#expectOwnMasters();
    this.#isUpdating = true;
    const { gpu } = this.model;
    const { weights, fixed } = this.#parameters;
    await this.#norm.measure(this.gradients, numbers.maxGradientNorm);
    // They lie among the others, whose weights decay.
    const kept = fixed.map((tensor) => {
      const copy = gpu.tensor(tensor.shape, tensor.dtype, tensor.label);
      gpu.copy(tensor, copy);
      return copy;
    });
    this.#updateOwn(numbers);
    if (this.exchange.size > 1) await this.exchange.gatherSlices(gpu, weights, this.slices);
    kept.forEach((copy, i) => gpu.copy(copy, fixed[i]));
    gpu.release(...kept);
    // Said before the result is known: whoever samples meanwhile samples from the new weights.
    this.weightsTaken();
    const { norm, nonFinite } = await this.#norm.read();
    if (nonFinite === 0) this.step++;
    this.#isUpdating = false;
    return { gradientNorm: norm, nonFinite };
  }

  #updateOwn({ learningRate, betas: [beta1, beta2], epsilon, weightDecay }: AdamwNumbers): void {
    const step = this.step + 1;
    for (const slice of this.ownSlices) {
      const own = this.state.of(slice);
      if (!own) throw new Error("a slice of this process has no moments");
      const weights = sliceOf(this.#parameters.weights, slice);
      adamw(this.model.gpu, {
        ...(own.master ? { parameters: own.master, rounded: weights } : { parameters: weights }),
        gradients: sliceOf(this.gradients, slice),
        firstMoment: own.first,
        secondMoment: own.second,
        clipScale: this.#norm.clipScale,
      }, {
        learningRate,
        beta1,
        beta2,
        epsilon,
        weightDecay,
        biasCorrection1: 1 - beta1 ** step,
        biasCorrection2: 1 - beta2 ** step,
      });
    }
  }

  /** @throws Error when weights were written to whose masters are others by now */
  #expectOwnMasters(): void {
    if (this.state.masters.length > 0 && this.#weightsVersion !== this.#parameters.version) {
      throw new Error("weights in 16 bits were changed, and their masters were not");
    }
  }

  /** @throws Error when an update was cut off: the weights are then those of no step */
  expectWhole(): void {
    if (this.#isUpdating) throw new Error("an update of these weights was cut off by an error");
  }

  /** Returns the GPU memory of what the optimizer itself allocated. */
  release(): void {
    this.state.release();
    this.#norm.release();
  }
}

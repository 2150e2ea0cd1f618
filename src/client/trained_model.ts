import { ModelSampler } from "./model_sampler.ts";
import type { TrainingSession } from "./training_session.ts";
import { type Datum, decodeLoss, encodeLoss, type LossOutput, type LossRequest } from "./wire.ts";

/** The numbers of a step of AdamW; what is left out is Tinker's default. */
export interface AdamNumbers {
  /** 1e-4 */
  readonly learningRate?: number;
  /** 0.9 */
  readonly beta1?: number;
  /** 0.95 */
  readonly beta2?: number;
  /** 1e-12 */
  readonly epsilon?: number;
  /** 0 */
  readonly weightDecay?: number;
  /** No clipping. */
  readonly maximumGradientNorm?: number;
}

/** Losses by name, with their numbers. */
export type LossName = "cross_entropy" | "importance_sampling" | "ppo" | "cispo" | "gspo";

/**
 * An adapter in training. Its requests are done in the order in which they were made, so that none needs to be waited
 * for before the next is made.
 */
export class TrainedModel {
  #number = 1;

  constructor(readonly session: TrainingSession, readonly id: string) {}

  /** Log-probs of the targets, and the loss. @throws Refused */
  forward(data: readonly Datum[], loss: LossName = "cross_entropy"): Promise<LossOutput> {
    return this.#loss({ data, loss, forwardOnly: true });
  }

  /**
   * Adds the gradient of a loss to what is there; nothing is divided by the number of tokens or datums.
   *
   * @throws Refused
   */
  forwardBackward(
    data: readonly Datum[],
    loss: LossName,
    numbers: Readonly<Record<string, number>> = {},
  ): Promise<LossOutput> {
    return this.#loss({ data, loss, forwardOnly: false, numbers });
  }

  /**
   * Applies the gradients in one step; the next ones begin with none.
   *
   * @returns the norm of the gradient before it was clipped
   * @throws Refused when it was not finite, and nothing was updated
   */
  async optimStep(numbers: AdamNumbers): Promise<{ readonly gradientNorm: number }> {
    const { metrics } = await this.request("optim_step", {
      adam_params: {
        learning_rate: numbers.learningRate,
        beta1: numbers.beta1,
        beta2: numbers.beta2,
        eps: numbers.epsilon,
        weight_decay: numbers.weightDecay,
        grad_clip_norm: numbers.maximumGradientNorm,
      },
    });
    return { gradientNorm: (metrics as Record<string, number>)["gradient_norm:mean"] };
  }

  /** Saves it with its optimizer, to go on from. @returns its address @throws Refused */
  async save(name: string): Promise<string> {
    return (await this.request("save_weights", { path: name })).path as string;
  }

  /** Saves it as an adapter alone. @returns its address @throws Refused */
  async saveForSampling(name: string): Promise<string> {
    return (await this.request("save_weights_for_sampler", { path: name })).path as string;
  }

  /** Puts it back to what was saved. @throws Refused */
  async load(path: string, optimizer = true): Promise<void> {
    await this.request("load_weights", { path, optimizer });
  }

  /** It as it is now, to sample from. @throws Refused */
  async snapshot(): Promise<ModelSampler> {
    const answer = await this.request("save_weights_for_sampler", {
      sampling_session_seq_id: this.session.nextSampler(),
    });
    return new ModelSampler(this.session, answer.sampling_session_id as string);
  }

  /** The number of the next request. One that is taken and not used holds up the later ones for a minute. */
  nextNumber(): number {
    return this.#number++;
  }

  /** A request with the next number. @throws Refused */
  request(path: string, body: object): Promise<Record<string, unknown>> {
    return this.session.done(path, { model_id: this.id, seq_id: this.nextNumber(), ...body });
  }

  async #loss(asked: Omit<LossRequest, "modelId" | "number">): Promise<LossOutput> {
    const body = encodeLoss({ ...asked, modelId: this.id, number: this.nextNumber() });
    const result = await this.session.result(await this.session.postLoss(body));
    if (!(result instanceof Uint8Array)) throw new Error("a loss was answered in JSON");
    return decodeLoss(result);
  }
}

import { fromBinary } from "@bufbuild/protobuf";
import { SampleResponseSchema, StopReason } from "../server/tinker/wire/tinker_pb.ts";
import type { TrainingSession } from "./training_session.ts";
import { floatsOf, idsOf } from "./wire.ts";

/** How responses are sampled. */
export interface SampleOptions {
  /** What the model's positions leave, by default. */
  readonly maximumTokens?: number;
  /** 1 by default; 0: the likeliest. */
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  /** The same one gives the same responses; a random one by default. */
  readonly seed?: number;
  /** Texts or ids that end a response besides the model's own end; none: nothing ends it. */
  readonly stop?: string | readonly string[] | readonly number[];
  /** Responses; 1 by default. */
  readonly count?: number;
  /** Whether log-probs of the prompt are told. */
  readonly promptLogProbs?: boolean;
}

/** A response. L tokens. */
export interface SampledResponse {
  /** [L], with what ended it */
  readonly tokens: readonly number[];
  /** [L] of the distribution at temperature 1: what `TrainedModel.forward` gives, to the last bit */
  readonly logProbs: Float32Array;
  /** Whether it came to its end; false when it was cut off. */
  readonly isFinished: boolean;
}

/** Responses to a prompt. */
export interface Samples {
  readonly responses: readonly SampledResponse[];
  /** [P] of the prompt's tokens, the first NaN; null when not asked for */
  readonly promptLogProbs: Float32Array | null;
}

/** Something to sample from. It stays as it is, whatever is trained meanwhile. */
export class ModelSampler {
  #number = 0;

  constructor(private readonly session: TrainingSession, readonly id: string) {}

  /** @param prompt token ids @throws Refused */
  async sample(prompt: ArrayLike<number>, options: SampleOptions = {}): Promise<Samples> {
    const { request_id } = await this.session.post("asample", {
      ...{ sampling_session_id: this.id, seq_id: this.#number++, num_samples: options.count ?? 1 },
      prompt: { chunks: [{ type: "encoded_text", tokens: Array.from(prompt) }] },
      sampling_params: {
        max_tokens: options.maximumTokens,
        temperature: options.temperature,
        top_k: options.topK,
        top_p: options.topP,
        seed: options.seed,
        stop: options.stop,
      },
      prompt_logprobs: options.promptLogProbs,
    });
    const result = await this.session.result(request_id as string);
    if (!(result instanceof Uint8Array)) throw new Error("samples were answered in JSON");
    const { sequences, promptLogprobs } = fromBinary(SampleResponseSchema, result);
    return {
      responses: sequences.map(({ tokens, logprobs, stopReason }) => ({
        tokens: Array.from(idsOf(tokens)),
        logProbs: floatsOf(logprobs ?? new Uint8Array()),
        isFinished: stopReason === StopReason.STOP,
      })),
      promptLogProbs: promptLogprobs ? floatsOf(promptLogprobs) : null,
    };
  }
}

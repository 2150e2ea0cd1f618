import { UserError } from "../../base/user_error.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { Response, SampledTokens, Sampling } from "../../engine/sampling/request.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import { TextStream } from "../../model/tokenizer/text_stream.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { Prompt } from "../../rl/prompt_template.ts";
import type { Prompted } from "../../rl/verifier_prompt.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { loadPolicy, policyOf } from "./load_policy.ts";
import { promptOf } from "./policies.ts";

/** Tokens decoded between two pieces of text that are told. */
const TOKENS_PER_PIECE = 4;

/** A response, whole. */
export interface Answer {
  readonly text: string;
  /** False when it was cut off. */
  readonly finished: boolean;
}

/**
 * One policy of a run as a checkpoint has it, for asking it something: without references, gradients and moments.
 * On a rehearsal GPU, which has no memory, it ends its answer at once. Release it.
 */
export class AskedPolicy<Variable extends string> {
  private constructor(
    private readonly loaded: LoadedModel,
    private readonly stopTokens: readonly number[],
    /** Maker of its prompts. */
    readonly prompted: Prompted<Prompt<Variable>>,
  ) {}

  /** @throws UserError when its files are missing or unsound, or the checkpoint is of another model */
  static async open<Variable extends string>(
    gpu: Gpu,
    config: TangoConfig,
    name: PolicyName,
    template: (file: string) => Prompt<Variable>,
    checkpoint: StoredCheckpoint,
  ): Promise<AskedPolicy<Variable>> {
    const loaded = await loadPolicy(gpu, config, name, checkpoint);
    const { model, tokenizer } = loaded;
    try {
      const policy = policyOf(config, name);
      const { prompt, turnEnd } = promptOf(policy, template(policy.prompt_template), tokenizer);
      const stopTokens = gpu.isRehearsal ? [0] : withTurnEnd(loaded.stopTokens, turnEnd);
      return new AskedPolicy(loaded, stopTokens, {
        tokenizer,
        template: prompt,
        config: model.config,
        maximumResponse: policy.max_response_length,
        maximumPrompt: config.verifier !== null && name === "verifier"
          ? config.verifier.maximum_prompt_tokens
          : null,
      });
    } catch (error) {
      model.release();
      throw error;
    }
  }

  /**
   * Samples one response.
   *
   * @param onText told each piece of it as it comes
   * @throws UserError when the prompt leaves no room for a response
   */
  async ask(
    prompt: Uint32Array,
    sampling: Sampling,
    onText: (piece: string) => void,
  ): Promise<Answer> {
    const { model, tokenizer } = this.loaded;
    const { maximumResponse, config } = this.prompted;
    const room = Math.min(maximumResponse, config.maxPositions - prompt.length);
    if (room < 1) {
      throw new UserError(
        `The question takes ${prompt.length} of the model's ${config.maxPositions} positions: there is no room ` +
          `for an answer. Ask something shorter.`,
      );
    }
    const stream = new TextStream(tokenizer);
    const tell = (text: string) => text === "" || onText(text);
    const sampler = new Sampler(model, { slots: 1, stepsBetweenReadbacks: TOKENS_PER_PIECE });
    try {
      let response: Response | null = null;
      sampler.add({
        ...sampling,
        prompt,
        sequenceId: 0,
        maximumResponse: room,
        stopTokens: this.stopTokens,
        listener: {
          tokens: ({ tokens }: SampledTokens) =>
            void tell(Array.from(tokens, (token) => stream.append(token)).join("")),
          end: (ended) => response = ended,
        },
      });
      while (await sampler.step());
      tell(stream.end());
      // TypeScript does not see that the listener has set it.
      const ended = response as Response | null;
      if (ended === null) throw new Error("a response without an end");
      return { text: tokenizer.decode(ended.tokens), finished: ended.end.reason !== "length" };
    } finally {
      sampler.close();
    }
  }

  /** Returns the GPU memory. */
  release(): void {
    this.loaded.model.release();
  }
}

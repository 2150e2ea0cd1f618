import { rollout } from "../../engine/sampling/rollout.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import { streams } from "../../random/philox.ts";
import type { GeneratorTemplate } from "../../rl/prompt_template.ts";
import type { TeacherConfig } from "../config/teacher_schema.ts";
import { promptOf } from "../tango/policies.ts";
import type { WrittenAnswer } from "../answers/answers_log.ts";
import type { Teacher } from "./teach.ts";

/** Tokens decoded on the GPU between two looks at which sequences have finished. */
const STEPS_BETWEEN_READBACKS = 16;

/** A teacher on this GPU. */
export class LocalTeacher implements Teacher, Disposable {
  readonly #sampler: Sampler;

  /** @param model the path of the loaded one, for its chat template */
  constructor(
    private readonly loaded: LoadedModel,
    private readonly model: string,
    private readonly config: TeacherConfig,
    private readonly template: GeneratorTemplate,
  ) {
    const { decode_slots: slots } = config;
    this.#sampler = new Sampler(loaded.model, {
      slots,
      stepsBetweenReadbacks: STEPS_BETWEEN_READBACKS,
    });
  }

  /**
   * Solves some problems. Where a problem stands among all decides its random numbers, so that it does not matter with
   * which others it is asked.
   *
   * @param first place of the first question among all, from 0
   * @param heard told what was written, of all of them at the end
   */
  async solve(
    questions: readonly string[],
    first: number,
    heard: (place: number, answers: readonly WrittenAnswer[]) => void,
  ): Promise<void> {
    const { tokenizer, stopTokens } = this.loaded;
    const { answers, temperature, top_p: topP, seed, max_response_length, chat, system_prompt } =
      this.config;
    const prompting = { model: this.model, chat, system_prompt };
    const { prompt, turnEnd } = promptOf(prompting, this.template, tokenizer);
    const requests = questions.map((question, q) => ({
      prompt: tokenizer.encode(prompt.render({ question })),
      sequenceIds: Array.from({ length: answers }, (_, i) => (first + q) * answers + i),
    }));
    const responses = await rollout(this.#sampler, requests, {
      ...{ temperature, topK: 0, topP, minP: 0, seed, stream: streams.teacher, step: 0 },
      stopTokens: withTurnEnd(stopTokens, turnEnd),
      maximumResponse: max_response_length,
    });
    responses.forEach((some, q) =>
      heard(
        first + q,
        some.map(({ tokens, finished }) => ({
          ...{ text: tokenizer.decode(tokens), isFinished: finished },
        })),
      )
    );
  }

  [Symbol.dispose](): void {
    this.#sampler.close();
  }
}

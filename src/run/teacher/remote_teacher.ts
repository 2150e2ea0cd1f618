import { z } from "zod";
import { Failure } from "../../base/failure.ts";
import { UserError } from "../../base/user_error.ts";
import type { GeneratorTemplate } from "../../rl/prompt_template.ts";
import type { TeacherConfig } from "../config/teacher_schema.ts";
import type { WrittenAnswer } from "../answers/answers_log.ts";
import type { Teacher } from "./teach.ts";

/** Seconds before each time that a request is made again. */
const PAUSES = [1, 2, 4, 8, 16];

const replySchema = z.object({
  choices: z.array(z.object({
    text: z.string().optional(),
    message: z.object({ content: z.string().nullable() }).optional(),
    finish_reason: z.string().nullable(),
  })),
});

/** A teacher behind an endpoint that speaks OpenAI's API. */
export class RemoteTeacher implements Teacher {
  /**
   * @param key sent as the API key; null: none
   * @param pause waits for some seconds
   */
  constructor(
    private readonly server: NonNullable<TeacherConfig["server"]>,
    private readonly config: TeacherConfig,
    private readonly template: GeneratorTemplate,
    private readonly key: string | null,
    private readonly pause: (seconds: number) => Promise<void> = (seconds) =>
      new Promise((resolve) => setTimeout(resolve, 1000 * seconds)),
  ) {}

  /**
   * Asks about several questions at once. Where one fails for good, those that were asked already are waited for, and no
   * other is.
   *
   * @throws UserError when the endpoint refuses the request
   * @throws Failure when it cannot be reached, or fails time and again
   */
  async solve(
    questions: readonly string[],
    first: number,
    heard: (place: number, answers: readonly WrittenAnswer[]) => void,
  ): Promise<void> {
    let next = 0;
    const work = async () => {
      try {
        for (let q = next++; q < questions.length; q = next++) {
          heard(first + q, await this.#ask(questions[q], first + q));
        }
      } catch (error) {
        next = questions.length;
        throw error;
      }
    };
    const works = await Promise.allSettled(Array.from({ length: this.server.jobs }, work));
    const failed = works.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async #ask(question: string, place: number): Promise<WrittenAnswer[]> {
    const { chat, system_prompt, answers, temperature, top_p, max_response_length, seed } =
      this.config;
    const prompt = this.template.render({ question });
    const messages = [
      ...(system_prompt === null ? [] : [{ role: "system", content: system_prompt }]),
      { role: "user", content: prompt },
    ];
    const { choices } = await this.#post(chat ? "chat/completions" : "completions", {
      model: this.server.model,
      ...(chat ? { messages } : { prompt }),
      ...{ n: answers, temperature, top_p, max_tokens: max_response_length },
      // Another one for each problem, or they would all be sampled alike.
      seed: (seed + place) % 2 ** 31,
    });
    if (choices.length !== answers) {
      throw new UserError(
        `${this.server.url}: ${answers} answers were asked for, and ${choices.length} came. Set answers to what the ` +
          "endpoint gives at once.",
      );
    }
    return choices.map(({ text, message, finish_reason }) => ({
      text: text ?? message?.content ?? "",
      isFinished: finish_reason === "stop",
    }));
  }

  async #post(path: string, body: object): Promise<z.output<typeof replySchema>> {
    const { url } = this.server;
    const address = `${url.replace(/\/+$/, "")}/${path}`;
    let problem = "";
    for (const seconds of [0, ...PAUSES]) {
      if (seconds > 0) await this.pause(seconds);
      let response: Response;
      try {
        response = await fetch(address, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            ...(this.key !== null && { authorization: `Bearer ${this.key}` }),
          },
          body: JSON.stringify(body),
        });
        if (response.ok) return readReply(address, await response.json());
        problem = `${response.status}: ${(await response.text()).slice(0, 200)}`;
      } catch (error) {
        if (error instanceof UserError) throw error;
        problem = error instanceof Error ? error.message : String(error);
        continue;
      }
      const isTemporary = response.status === 429 || response.status >= 500;
      if (!isTemporary) throw new UserError(`${address} refused the request: ${problem}`);
    }
    throw new Failure(
      `${address} failed ${
        PAUSES.length + 1
      } times, the last time with: ${problem}. The same command goes on from ` +
        "what is there.",
    );
  }
}

function readReply(address: string, reply: unknown): z.output<typeof replySchema> {
  const { data } = replySchema.safeParse(reply);
  if (data) return data;
  throw new UserError(
    `${address} answered what OpenAI's API does not say: expected "choices" with texts, found ` +
      `${JSON.stringify(reply).slice(0, 100)}.`,
  );
}

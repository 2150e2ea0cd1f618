import { Template } from "@huggingface/jinja";
import type { ChatMessage, ChatTemplate } from "../model/tokenizer/chat_template.ts";
import { UserError } from "../base/user_error.ts";
import { readTextFileSync } from "../platform/system/files.ts";

/** A maker of prompts from some values. */
export interface Prompt<Variable extends string> {
  /** The prompt with the values filled in. */
  render(values: Readonly<Record<Variable, string | number>>): string;
}

/** A prompt as Jinja text, with the values it may use. */
export class PromptTemplate<Variable extends string> implements Prompt<Variable> {
  readonly #template: Template;

  /** @throws UserError when the text is not a template or leaves out a variable */
  constructor(text: string, file: string, private readonly variables: readonly Variable[]) {
    const missing = variables.find((name) => !new RegExp(`\\b${name}\\b`).test(text));
    if (missing) throw new UserError(`${file}: the template never uses {{ ${missing} }}`);
    try {
      this.#template = new Template(text);
    } catch (cause) {
      throw new UserError(`${file} is not a Jinja template: ${cause}`);
    }
  }

  render(values: Readonly<Record<Variable, string | number>>): string {
    const given = Object.fromEntries(this.variables.map((name) => [name, values[name]]));
    return this.#template.render(given);
  }
}

/** The generator's prompt: the question. */
export type GeneratorTemplate = Prompt<"question">;
/** The verifier's prompt: the question, a solution and its number of steps. */
export type VerifierTemplate = Prompt<"question" | "solution" | "steps">;

/** Reads the generator's template. */
export function generatorTemplate(file: string): GeneratorTemplate {
  return new PromptTemplate(readTemplate(file), file, ["question"]);
}

/** Reads the verifier's template. */
export function verifierTemplate(file: string): VerifierTemplate {
  return new PromptTemplate(readTemplate(file), file, ["question", "solution", "steps"]);
}

/** Says a prompt to a chat model: as the user's message, after what the model is told first, if anything. */
export function inConversation<Variable extends string>(
  prompt: Prompt<Variable>,
  chat: ChatTemplate,
  system: string | null,
): Prompt<Variable> {
  const before: ChatMessage[] = system === null ? [] : [{ role: "system", content: system }];
  return {
    render: (values) => chat.render([...before, { role: "user", content: prompt.render(values) }]),
  };
}

function readTemplate(file: string): string {
  try {
    return readTextFileSync(file);
  } catch (cause) {
    throw new UserError(
      `The prompt template ${file} cannot be read: ${
        cause instanceof Error ? cause.message : cause
      }`,
    );
  }
}

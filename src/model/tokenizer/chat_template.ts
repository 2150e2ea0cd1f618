import { Template } from "@huggingface/jinja";
import { UserError } from "../../base/user_error.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** A turn of a conversation. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** How a model was taught to see a conversation. */
export class ChatTemplate {
  readonly #template: Template;

  /**
   * @param path how errors name the model
   * @throws UserError when the tokenizer has no template, or one that is not Jinja
   */
  constructor(private readonly tokenizer: Tokenizer, private readonly path: string) {
    const text = templateText(tokenizer.settings.chat_template);
    if (text === null) {
      throw new UserError(
        `${path} has no chat template: it is not a model to talk with. Use: generate --raw`,
      );
    }
    try {
      this.#template = new Template(text);
    } catch (cause) {
      throw this.#fault(cause);
    }
  }

  /**
   * The text of a conversation, which asks for the next turn of the assistant unless told otherwise.
   *
   * @throws UserError when the template refuses the messages
   */
  render(messages: readonly ChatMessage[], { asksForReply = true } = {}): string {
    const special = (name: "bos_token" | "eos_token") => this.tokenizer.specialText(name) ?? "";
    try {
      return this.#template.render({
        messages,
        add_generation_prompt: asksForReply,
        bos_token: special("bos_token"),
        eos_token: special("eos_token"),
      });
    } catch (cause) {
      throw this.#fault(cause);
    }
  }

  /**
   * The text of a conversation up to the end of its last message, whose turn stays open.
   *
   * @throws UserError when the template refuses the messages, or leaves out the last one
   */
  renderOpen(messages: readonly ChatMessage[]): string {
    // Behind the content, so that what is in the content or in the template is not taken for its end.
    const mark = crypto.randomUUID();
    const marked = messages.map((message, i) =>
      i < messages.length - 1 ? message : { ...message, content: message.content + mark }
    );
    const text = this.render(marked, { asksForReply: false });
    const end = text.lastIndexOf(mark);
    if (end < 0) throw this.#fault("it leaves out the last message, which was to be continued");
    return text.slice(0, end);
  }

  /**
   * The token that the template writes after a reply: a model that was taught with it ends its replies so,
   * whatever its other stop tokens are.
   *
   * @returns null when the template writes none there
   */
  turnEnd(): number | null {
    const reply = "0";
    const messages: ChatMessage[] = [
      { role: "user", content: "?" },
      { role: "assistant", content: reply },
    ];
    const text = this.render(messages, { asksForReply: false });
    const after = text.slice(text.lastIndexOf(reply) + reply.length);
    return this.tokenizer.specialTokens.find(({ content }) => after.startsWith(content))?.id ??
      null;
  }

  #fault(cause: unknown): UserError {
    const message = cause instanceof Error ? cause.message : cause;
    return new UserError(`${this.path}: its chat template cannot be used: ${message}`);
  }
}

/** `chat_template` is one text, or a list of named ones, of which `default` is for conversations. */
export function templateText(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return null;
  const found = value.find((item) => item?.name === "default")?.template;
  return typeof found === "string" ? found : null;
}

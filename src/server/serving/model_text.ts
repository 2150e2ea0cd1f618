import { UserError } from "../../base/user_error.ts";
import type { ModelConfig } from "../../model/decoder/config.ts";
import { ChatTemplate } from "../../model/tokenizer/chat_template.ts";
import { stopTokensOf, withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { openModelSource } from "../../model/weights/model_source.ts";

/** What of a model is text: the server's side of it. */
export interface ModelText {
  readonly tokenizer: Tokenizer;
  readonly config: ModelConfig;
  /** Ids that end a response. */
  readonly stopTokens: readonly number[];
  /** Null when it is no model to talk with. */
  readonly chat: {
    readonly template: ChatTemplate;
    /** Ids that end a reply. */
    readonly stopTokens: readonly number[];
  } | null;
}

/** @throws UserError when its files cannot be read */
export async function readModelText(path: string): Promise<ModelText> {
  using source = await openModelSource(path);
  const tokenizer = source.tokenizer();
  const stopTokens = stopTokensOf(tokenizer, source.stopTokens, path);
  const { config } = source;
  const template = templateOf(tokenizer, path);
  const chat = template &&
    { template, stopTokens: withTurnEnd(stopTokens, template.turnEnd()) };
  return { tokenizer, config, stopTokens, chat };
}

/** Null when there is none, or none that can be used. */
function templateOf(tokenizer: Tokenizer, path: string): ChatTemplate | null {
  try {
    return new ChatTemplate(tokenizer, path);
  } catch (error) {
    if (error instanceof UserError) return null;
    throw error;
  }
}

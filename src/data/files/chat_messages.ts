import { UserError } from "../../base/user_error.ts";
import { isRow, type Row } from "./row.ts";
import { textFrom } from "./row_values.ts";

const USERS = new Set(["user", "human"]);
const ASSISTANTS = new Set(["assistant", "gpt", "model"]);

/** The last turn of a conversation: the question and, where there is one, the answer to it. */
export interface LastTurn {
  readonly question: string | null;
  readonly response: string | null;
}

/** Whether a value is a list of chat messages. */
export function isConversation(value: unknown): value is readonly Row[] {
  return Array.isArray(value) && value.length > 0 &&
    value.every((item) => isRow(item) && ("role" in item || "from" in item));
}

/**
 * The last user message of a conversation and the assistant message right after it. Messages are
 * `{role, content}` (OpenAI) or `{from, value}` (ShareGPT); content may be a list of text parts. Throws a
 * UserError that begins with `where` when there is no user message or a message holds more than text.
 */
export function lastTurn(messages: readonly Row[], where: string): LastTurn {
  const roles = messages.map((message) => String(message.role ?? message.from));
  const asked = roles.findLastIndex((role) => USERS.has(role));
  if (asked < 0) {
    throw new UserError(
      `${where}: found messages of ${[...new Set(roles)].join(", ")}, expected one of a user.`,
    );
  }
  const isAnswered = ASSISTANTS.has(roles[asked + 1]);
  return {
    question: contentOf(messages[asked], `${where}, message ${asked + 1}`),
    response: isAnswered ? contentOf(messages[asked + 1], `${where}, message ${asked + 2}`) : null,
  };
}

/** The last user message; null where there is none. */
export function questionIn(messages: readonly Row[], where: string): string | null {
  const asks = messages.some((message) => USERS.has(String(message.role ?? message.from)));
  return asks ? lastTurn(messages, where).question : null;
}

/**
 * The assistant's reply to the last user message; where there is no user, as in a column of responses alone, its last
 * message.
 *
 * @throws UserError that begins with `where` when neither is there, or a message holds more than text
 */
export function replyIn(messages: readonly Row[], where: string): string | null {
  const roles = messages.map((message) => String(message.role ?? message.from));
  const replied = roles.findLastIndex((role) => ASSISTANTS.has(role));
  return replied < 0 || roles.some((role) => USERS.has(role))
    ? lastTurn(messages, where).response
    : contentOf(messages[replied], `${where}, message ${replied + 1}`);
}

function contentOf(message: Row, where: string): string | null {
  const content = message.content ?? message.value;
  if (!Array.isArray(content)) return textFrom(content, where);
  const parts = content.map((part) => {
    if (isRow(part) && part.type === "text") return textFrom(part.text, where) ?? "";
    throw new UserError(`${where}: found a part that is not text, expected text only.`);
  });
  return textFrom(parts.join(""), where);
}

import { ApiError, explain, send } from "../live/api.ts";
import { jsonEvents } from "../live/json_lines.ts";

/** A conversation so far, and how a reply to it is drawn. */
export interface ModelRequest {
  /** By which it is asked. */
  readonly model: string;
  /** Null: its files do not tell. */
  readonly hasChat: boolean | null;
  /** In turns, the person's first; the last one is to be answered. */
  readonly said: readonly string[];
  readonly temperature: number;
  readonly maximumTokens: number;
}

/** A piece of a reply. */
export interface Piece {
  readonly text: string;
  /** Why it has ended; null while it goes on. */
  readonly end: string | null;
  /** Whether the model, which has no template, goes on with the text instead of answering. */
  readonly isContinued: boolean;
}

/** What either route streams. */
interface Streamed {
  readonly choices?: readonly {
    readonly text?: string;
    readonly delta?: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly error?: { readonly message: string };
}

/**
 * A model's reply, piece by piece: by its template, or, where it has none, as what follows the text of all turns.
 *
 * @throws ApiError
 */
export async function* askModel(asked: ModelRequest, signal: AbortSignal): AsyncGenerator<Piece> {
  const { model, said, temperature, maximumTokens } = asked;
  const shared = { model, temperature, max_tokens: maximumTokens, stream: true };
  const messages = said.map((content, place) => (
    { role: place % 2 === 0 ? "user" : "assistant", content }
  ));
  const complete = () =>
    send("POST", "/v1/completions", { body: { ...shared, prompt: joined(said) }, signal });
  const chat = () =>
    send("POST", "/v1/chat/completions", { body: { ...shared, messages }, signal });
  let isContinued = asked.hasChat === false;
  let response;
  try {
    response = await (isContinued ? complete() : chat());
  } catch (error) {
    // It is refused so when it turns out to have no template.
    const hasNone = error instanceof ApiError && error.status === 400 &&
      error.faults.some(({ field }) => field === "model");
    if (asked.hasChat !== null || !hasNone) throw error;
    isContinued = true;
    response = await complete();
  }
  if (response.body === null) return;
  for await (const event of jsonEvents(response.body)) {
    const told = event as Streamed;
    if (told.error) throw explain(500, JSON.stringify(told));
    for (const { text, delta, finish_reason: end } of told.choices ?? []) {
      yield { text: text ?? delta?.content ?? "", end, isContinued };
    }
  }
}

/** Replies follow their texts at once, and what a person says next stands on a line of its own. */
function joined(said: readonly string[]): string {
  return said.map((text, place) => place > 0 && place % 2 === 0 ? `\n${text}` : text).join("");
}

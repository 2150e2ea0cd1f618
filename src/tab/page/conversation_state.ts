/** What the page knows of a conversation: what the worker told, one message after another. */

import type { ToldOfModel } from "../worker/messages.ts";

export interface Turn {
  readonly said: string;
  readonly reply: string;
  /** How the reply ended; null while it is written. */
  readonly end: string | null;
}

export interface ConversationState {
  readonly model: Extract<ToldOfModel, { type: "opened" }> | null;
  readonly isOpening: boolean;
  readonly turns: readonly Turn[];
  readonly failure: string | null;
}

export const NO_MODEL: ConversationState = {
  model: null,
  isOpening: false,
  turns: [],
  failure: null,
};

/** What the page itself asked for. */
export type AskedByPage =
  | { readonly type: "opening" }
  | { readonly type: "saying"; readonly text: string }
  | { readonly type: "clearing" };

/** What the page knows after one more message. */
export function after(
  state: ConversationState,
  told: ToldOfModel | AskedByPage,
): ConversationState {
  switch (told.type) {
    case "opening":
      return { ...NO_MODEL, isOpening: true };
    case "opened":
      return { ...NO_MODEL, model: told };
    case "saying": {
      const turn: Turn = { said: told.text, reply: "", end: null };
      return { ...state, turns: [...state.turns, turn], failure: null };
    }
    case "clearing":
      return { ...state, turns: [], failure: null };
    case "piece":
      return withLast(state, (turn) => ({ ...turn, reply: turn.reply + told.text }));
    case "said": {
      const rate = `${told.tokens} tokens, ${(told.tokens / told.seconds).toFixed(1)} a second`;
      const end = told.finished ? rate : `${rate}; cut off at the most that a reply may have`;
      return withLast(state, (turn) => ({ ...turn, end }));
    }
    case "failed":
      return {
        ...withLast(state, (turn) => turn.end === null ? { ...turn, end: "failed" } : turn),
        isOpening: false,
        failure: told.message,
      };
  }
}

function withLast(state: ConversationState, change: (turn: Turn) => Turn): ConversationState {
  const last = state.turns.at(-1);
  return last === undefined
    ? state
    : { ...state, turns: [...state.turns.slice(0, -1), change(last)] };
}

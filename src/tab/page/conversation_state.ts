/** What the page knows of a conversation: what the worker told, one message after another. */

import type { MetricsLine } from "../../run/store/metrics_log.ts";
import type { ToldOfModel } from "../worker/messages.ts";

export interface Turn {
  readonly said: string;
  readonly reply: string;
  /** How the reply ended; null while it is written. */
  readonly end: string | null;
}

/** What an adapter learns, or has learned. */
export interface LessonState {
  /** Name of the file that it learns from. */
  readonly examples: string;
  /** What it does before the first update. */
  readonly doing: string;
  /** Updates; 0 before they are known. */
  readonly total: number;
  readonly lines: readonly MetricsLine[];
  readonly phase: "goes on" | "ends" | "done" | "ended";
}

export interface ConversationState {
  readonly model: Extract<ToldOfModel, { type: "opened" }> | null;
  readonly isOpening: boolean;
  readonly turns: readonly Turn[];
  readonly lesson: LessonState | null;
  readonly failure: string | null;
}

export const NO_MODEL: ConversationState = {
  model: null,
  isOpening: false,
  turns: [],
  lesson: null,
  failure: null,
};

/** What the page itself asked for. */
export type AskedByPage =
  | { readonly type: "opening" }
  | { readonly type: "saying"; readonly text: string }
  | { readonly type: "clearing" }
  | { readonly type: "teaching"; readonly examples: string }
  | { readonly type: "ending" };

/** What the page knows after one more message. */
export function after(
  state: ConversationState,
  told: ToldOfModel | AskedByPage,
): ConversationState {
  switch (told.type) {
    case "opening":
      return { ...NO_MODEL, isOpening: true };
    case "opened": {
      const phase = told.learned ? "done" : "ended";
      const { lesson } = withLesson(state, (lesson) => ({ ...lesson, phase }));
      return { ...NO_MODEL, model: told, lesson };
    }
    case "teaching": {
      const { examples } = told;
      const lesson: LessonState = { examples, doing: "", total: 0, lines: [], phase: "goes on" };
      return { ...state, lesson, failure: null };
    }
    case "ending":
      return withLesson(state, (lesson) => ({ ...lesson, phase: "ends" }));
    case "doing":
      return withLesson(state, (lesson) => ({ ...lesson, doing: told.text }));
    case "lesson":
      return withLesson(state, (lesson) => ({ ...lesson, total: told.total }));
    case "learned":
      return withLesson(state, (lesson) => ({ ...lesson, lines: [...lesson.lines, told.line] }));
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
    case "failed": {
      const { lesson } = isLearning(state)
        ? withLesson(state, (lesson) => ({ ...lesson, phase: "ended" }))
        : state;
      return {
        ...withLast(state, (turn) => turn.end === null ? { ...turn, end: "failed" } : turn),
        lesson,
        isOpening: false,
        failure: told.message,
      };
    }
    case "file":
      return state;
  }
}

/** Whether an adapter is trained, so that nothing else can be asked. */
export const isLearning = ({ lesson }: ConversationState): boolean =>
  lesson?.phase === "goes on" || lesson?.phase === "ends";

function withLesson(
  state: ConversationState,
  change: (lesson: LessonState) => LessonState,
): ConversationState {
  return state.lesson === null ? state : { ...state, lesson: change(state.lesson) };
}

function withLast(state: ConversationState, change: (turn: Turn) => Turn): ConversationState {
  const last = state.turns.at(-1);
  return last === undefined
    ? state
    : { ...state, turns: [...state.turns.slice(0, -1), change(last)] };
}

/** What was said, which is kept, and goes on, while one looks elsewhere on the page. */

import { useEffect, useState } from "preact/hooks";
import { asError } from "../live/api.ts";
import { askVerifier, type VerifyRequest } from "../verify/ask_verifier.ts";
import { askModel, type ModelRequest } from "./ask_model.ts";
import type { JudgedSolution } from "../../../run/tango/judge_solution.ts";

/** What a person said and what came of it. */
export interface Turn {
  readonly id: number;
  readonly said: string;
  readonly model: string;
  readonly reply: string;
  /** Whether a verifier is asked about the reply, and what it writes and judges. */
  readonly isJudged: boolean;
  readonly critique: string;
  readonly judged: JudgedSolution | null;
  /** Whether the reply goes on with the text, as of a model without a template. */
  readonly isContinued: boolean;
  /** Why it has ended, such as "stop" or "length"; null while it goes on. */
  readonly end: string | null;
  readonly error: Error | null;
}

interface Conversation {
  readonly turns: readonly Turn[];
  /** What is being typed. */
  readonly draft: string;
  readonly temperature: string;
  readonly maximumTokens: string;
  /** Whether verifiers are asked where there is one. */
  readonly wantsJudgment: boolean;
}

let known: Conversation = {
  turns: [],
  ...{ draft: "", temperature: "0.7", maximumTokens: "128", wantsJudgment: true },
};
let going: AbortController | null = null;
let count = 0;
const listeners = new Set<() => void>();

/** Changes something of it. */
export function change(changes: Partial<Conversation>) {
  known = { ...known, ...changes };
  for (const listener of [...listeners]) listener();
}

export function useConversation(): Conversation {
  const [shown, setShown] = useState(known);
  useEffect(() => {
    const listener = () => setShown(known);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return shown;
}

/** Ends the reply that is being written; what is there of it stays. */
export function stop() {
  going?.abort();
}

/** Begins anew. */
export function forget() {
  stop();
  change({ turns: [] });
}

/** Has a model answer what is said, after all that was said before. */
export function ask(said: string, request: Omit<ModelRequest, "said">) {
  const before = known.turns.flatMap((turn) =>
    turn.isJudged || turn.reply === "" ? [] : [turn.said, turn.reply]
  );
  return follow(said, request.model, false, async (told, signal) => {
    for await (const piece of askModel({ ...request, said: [...before, said] }, signal)) {
      const { text, end, isContinued } = piece;
      told(({ reply }) => ({ reply: reply + text, end, isContinued }));
    }
  });
}

/** Has a run's generator solve a problem and its verifier judge the steps. Each problem stands alone. */
export function askBoth(model: string, request: VerifyRequest) {
  return follow(request.problem, model, true, async (told, signal) => {
    for await (const piece of askVerifier(request, signal)) {
      if (piece.type === "judged") told(() => ({ judged: piece }));
      else if (piece.type === "solution") told(({ reply }) => ({ reply: reply + piece.text }));
      else told(({ critique }) => ({ critique: critique + piece.text }));
    }
  });
}

type Tell = (change: (turn: Turn) => Partial<Turn>) => void;

async function follow(
  said: string,
  model: string,
  isJudged: boolean,
  answer: (told: Tell, signal: AbortSignal) => Promise<void>,
) {
  const { signal } = going = new AbortController();
  const id = ++count;
  const begun = { id, said, model, isJudged, reply: "", critique: "", judged: null };
  change({
    draft: "",
    turns: [...known.turns, { ...begun, isContinued: false, end: null, error: null }],
  });
  const told: Tell = (changes) =>
    change({
      turns: known.turns.map((turn) => turn.id === id ? { ...turn, ...changes(turn) } : turn),
    });
  try {
    await answer(told, signal);
    told(({ end }) => ({ end: end ?? "stop" }));
  } catch (error) {
    if (signal.aborted) told(() => ({ end: "stopped" }));
    else told(() => ({ end: "failed", error: asError(error) }));
  }
}

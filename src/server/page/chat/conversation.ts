/** What was said with each model, which goes on while one looks elsewhere on the page, and is kept by the browser. */

import { useEffect, useState } from "preact/hooks";
import { asError } from "../live/api.ts";
import { askVerifier, type VerifyRequest } from "../verify/ask_verifier.ts";
import { askModel, type ModelRequest } from "./ask_model.ts";
import {
  conversedModels,
  keepConversation,
  type KeptConversation,
  keptConversation,
} from "./kept_conversations.ts";
import type { Turn } from "./turn.ts";

/** What is said to whichever model, and how. */
interface Saying {
  /** What is being typed. */
  readonly draft: string;
  readonly temperature: string;
  readonly maximumTokens: string;
  /** Whether verifiers are asked where there is one. */
  readonly wantsJudgment: boolean;
  /** Why the browser keeps nothing of what was said last; null: it does. */
  readonly unkept: Error | null;
}

let saying: Saying = {
  ...{ draft: "", temperature: "0.7", maximumTokens: "128", wantsJudgment: true, unkept: null },
};
/** By model; those that the browser kept are read when they are first asked for. */
const conversations = new Map<string, KeptConversation>();
/** Replies that are being written, by model. */
const going = new Map<string, AbortController>();
let count = 0;
const listeners = new Set<() => void>();
// What is there of a reply stays when the page is left in its midst.
globalThis.addEventListener?.("pagehide", () => going.keys().forEach(keep));

/** Changes how something is said. */
export function change(changes: Partial<Saying>) {
  saying = { ...saying, ...changes };
  tell();
}

function tell() {
  for (const listener of [...listeners]) listener();
}

/** The conversation with a model, and how something is said. */
export function useConversation(model: string): KeptConversation & Saying {
  const [, redraw] = useState({});
  useEffect(() => {
    const listener = () => redraw({});
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return { ...conversationWith(model), ...saying };
}

/** The models that there are conversations with, the last one first. */
export function conversed(): string[] {
  const begun = conversations.entries().filter(([, { turns }]) => turns.length > 0)
    .map(([model]) => model);
  try {
    return [...new Set([...conversedModels(localStorage), ...begun])];
  } catch {
    return [...begun]; // `keep` says that the browser keeps nothing
  }
}

function conversationWith(model: string): KeptConversation {
  const known = conversations.get(model);
  if (known !== undefined) return known;
  let kept: KeptConversation = { turns: [], dropped: 0 };
  try {
    kept = keptConversation(localStorage, model);
  } catch {
    // A browser that keeps nothing has nothing; `keep` says so.
  }
  count = Math.max(count, ...kept.turns.map(({ id }) => id));
  conversations.set(model, kept);
  return kept;
}

function put(model: string, changes: Partial<KeptConversation>) {
  conversations.set(model, { ...conversationWith(model), ...changes });
  tell();
}

function keep(model: string) {
  try {
    keepConversation(localStorage, model, conversationWith(model));
    if (saying.unkept !== null) change({ unkept: null });
  } catch (error) {
    change({ unkept: asError(error) });
  }
}

/** Ends the reply that a model is writing; what is there of it stays. */
export function stop(model: string) {
  going.get(model)?.abort();
}

/** Begins anew with a model. */
export function forget(model: string) {
  stop(model);
  put(model, { turns: [], dropped: 0 });
  keep(model);
}

/** Has a model answer what is said, after all that was said before. */
export function ask(said: string, request: Omit<ModelRequest, "said">) {
  const before = conversationWith(request.model).turns.flatMap((turn) =>
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
  const controller = new AbortController();
  const { signal } = controller;
  going.set(model, controller);
  const id = ++count;
  const begun = { id, said, model, isJudged, reply: "", critique: "", judged: null };
  const { turns } = conversationWith(model);
  change({ draft: "" });
  put(model, { turns: [...turns, { ...begun, isContinued: false, end: null, error: null }] });
  keep(model);
  const told: Tell = (changes) => {
    const { turns } = conversationWith(model);
    put(model, {
      turns: turns.map((turn) => turn.id === id ? { ...turn, ...changes(turn) } : turn),
    });
  };
  try {
    await answer(told, signal);
    told(({ end }) => ({ end: end ?? "stop" }));
  } catch (error) {
    if (signal.aborted) told(() => ({ end: "stopped" }));
    else told(() => ({ end: "failed", error: asError(error) }));
  }
  if (going.get(model) === controller) going.delete(model);
  keep(model);
}

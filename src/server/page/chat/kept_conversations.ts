/** Conversations that this browser keeps: an entry of its storage for each model, so that two windows do not write over each other's. */

import type { Turn } from "./turn.ts";

/** A conversation as it is kept. */
export interface KeptConversation {
  readonly turns: readonly Turn[];
  /** How many turns before these were let go, because there was no room. */
  readonly dropped: number;
}

/** Where conversations are kept; `localStorage` is one. */
export type ConversationStore = Pick<
  Storage,
  "length" | "key" | "getItem" | "setItem" | "removeItem"
>;

/** The number is that of the format: an entry of another one is not read. */
const PREFIX = "conversation-1:";
/** Characters of a conversation: its oldest turns are let go beyond. */
export const MOST_CHARACTERS = 100_000;
/** The one that was gone on with longest ago is let go beyond. */
export const MOST_CONVERSATIONS = 20;

interface Entry {
  /** When it was gone on with last, in milliseconds. */
  readonly at: number;
  readonly dropped: number;
  readonly turns: readonly KeptTurn[];
}
type KeptTurn = Omit<Turn, "id" | "error"> & { readonly error: string | null };

/** The conversation with a model, its turns numbered from 1; an empty one when none is kept. */
export function keptConversation(store: ConversationStore, model: string): KeptConversation {
  const entry = entryOf(store, PREFIX + model);
  if (entry === null) return { turns: [], dropped: 0 };
  const turns = entry.turns.map(({ error, end, ...turn }, place) => ({
    ...turn,
    id: place + 1,
    // A reply that was being written when the page was left goes on nowhere.
    end: end ?? "left",
    error: error === null ? null : new Error(error),
  }));
  return { turns, dropped: entry.dropped };
}

/** The models that there are conversations with, the last one first. */
export function conversedModels(store: ConversationStore): string[] {
  return keysOf(store)
    .map((key) => ({ model: key.slice(PREFIX.length), at: entryOf(store, key)?.at ?? -1 }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => b.at - a.at)
    .map(({ model }) => model);
}

/**
 * Keeps a conversation, as much of its end as there is room for; one without turns is let go.
 *
 * @throws DOMException when the browser keeps nothing
 */
export function keepConversation(
  store: ConversationStore,
  model: string,
  { turns, dropped }: KeptConversation,
  at: number = Date.now(),
): void {
  const key = PREFIX + model;
  if (turns.length === 0) return store.removeItem(key);
  const texts = turns.map(({ id: _, error, ...turn }) =>
    JSON.stringify({ ...turn, error: error?.message ?? null } satisfies KeptTurn)
  );
  let [first, characters] = [texts.length, 0];
  while (first > 0 && characters + texts[first - 1].length <= MOST_CHARACTERS) {
    characters += texts[--first].length;
  }
  const kept = texts.slice(first).join(",");
  const entry = `{"at":${at},"dropped":${dropped + first},"turns":[${kept}]}`;
  const others = conversedModels(store).filter((one) => one !== model);
  for (const one of others.splice(MOST_CONVERSATIONS - 1)) store.removeItem(PREFIX + one);
  for (;;) {
    try {
      return store.setItem(key, entry);
    } catch (error) {
      // What others of this host keep takes room too.
      const oldest = others.pop();
      if (oldest === undefined) throw error;
      store.removeItem(PREFIX + oldest);
    }
  }
}

function keysOf(store: ConversationStore): string[] {
  return Array.from({ length: store.length }, (_, i) => store.key(i) ?? "")
    .filter((key) => key.startsWith(PREFIX));
}

/** Null where there is none, or anybody else has written it. */
function entryOf(store: ConversationStore, key: string): Entry | null {
  try {
    const entry: unknown = JSON.parse(store.getItem(key) ?? "null");
    return isEntry(entry) ? entry : null;
  } catch {
    return null;
  }
}

function isEntry(entry: unknown): entry is Entry {
  if (typeof entry !== "object" || entry === null) return false;
  const { at, dropped, turns } = entry as Partial<Record<keyof Entry, unknown>>;
  return typeof at === "number" && typeof dropped === "number" && Array.isArray(turns) &&
    turns.every(isTurn);
}

function isTurn(turn: Partial<Record<keyof KeptTurn, unknown>> | null): boolean {
  if (typeof turn !== "object" || turn === null) return false;
  const { said, model, reply, critique, judged, end, error } = turn;
  return [said, model, reply, critique].every((text) => typeof text === "string") &&
    [end, error].every((text) => text === null || typeof text === "string") &&
    (judged === null || isJudged(judged));
}

function isJudged(judged: unknown): boolean {
  if (typeof judged !== "object" || judged === null) return false;
  const { steps, stepJudgments, solution, critique, answer } = judged as Record<string, unknown>;
  return Array.isArray(steps) && Array.isArray(stepJudgments) &&
    [solution, critique, answer ?? ""].every((text) => typeof text === "string");
}

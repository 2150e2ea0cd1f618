import type { Holding } from "../index/database.ts";

/** What the server was asked to start, and which requests it has answered: no folder has that, so it is never dropped. */
export const QUEUE: Holding = {
  what: "the queue of runs",
  version: 1,
  isDerived: false,
  tables: `
CREATE TABLE launches (
  id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, launch TEXT NOT NULL
);
CREATE TABLE answered (key TEXT PRIMARY KEY, request TEXT NOT NULL, run TEXT NOT NULL, time INTEGER NOT NULL);
`,
};

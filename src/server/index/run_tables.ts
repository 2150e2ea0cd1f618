import type { Holding } from "./database.ts";

/** The index of the runs' folders: it can be removed at any time and is then made anew. */
export const RUN_INDEX: Holding = {
  what: "the runs' index",
  version: 5,
  isDerived: true,
  tables: `
CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, mark TEXT NOT NULL, progress TEXT NOT NULL);
CREATE TABLE files (
  run INTEGER NOT NULL, file TEXT NOT NULL, offset INTEGER NOT NULL, mark BLOB NOT NULL, PRIMARY KEY (run, file)
) WITHOUT ROWID;
CREATE TABLE columns (
  run INTEGER NOT NULL, name TEXT NOT NULL, chunk INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, name, chunk)
);
CREATE TABLE names (run INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE samples (
  run INTEGER NOT NULL, begin INTEGER NOT NULL, step INTEGER NOT NULL, problem TEXT NOT NULL, length INTEGER NOT NULL,
  disagrees INTEGER NOT NULL, cut INTEGER NOT NULL, malformed INTEGER NOT NULL, line TEXT NOT NULL,
  PRIMARY KEY (run, begin)
);
CREATE INDEX samples_by_step ON samples (run, step);
CREATE TABLE events (
  run INTEGER NOT NULL, number INTEGER NOT NULL, type TEXT NOT NULL, step INTEGER, line TEXT NOT NULL,
  PRIMARY KEY (run, number)
);
`,
};

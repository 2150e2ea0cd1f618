/** The index of the runs' folders: a SQLite database that can be removed at any time and is then made anew. */

import { DatabaseSync } from "node:sqlite";
import { UserError } from "../../base/user_error.ts";

/** Counts up when the tables change: an index of another version is made anew. */
const VERSION = 3;

const TABLES = `
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
CREATE TABLE launches (
  id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, launch TEXT NOT NULL
);
CREATE TABLE answered (key TEXT PRIMARY KEY, request TEXT NOT NULL, run TEXT NOT NULL, time INTEGER NOT NULL);
`;

/** What can be bound to a statement. */
export type Bound = string | number | Uint8Array | null;

/** A row that was read. */
export type Row = Readonly<Record<string, unknown>>;

/** The database, with its statements made once. */
export class Database implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>();

  /** @throws UserError when the file cannot be opened */
  constructor(path: string) {
    try {
      this.#database = new DatabaseSync(path);
      this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
      this.#make();
    } catch (error) {
      throw new UserError(
        `${path} cannot be opened as the runs' index: ${
          (error as Error).message
        }. It holds nothing that the runs' ` +
          `folders do not: remove it, or choose another folder with --runs.`,
      );
    }
  }

  #make(): void {
    const { user_version: version } = this.#database.prepare("PRAGMA user_version").get() ?? {};
    if (version === VERSION) return;
    const tables = this.#database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .all();
    this.transaction(() => {
      for (const { name } of tables) this.#database.exec(`DROP TABLE "${name}"`);
      this.#database.exec(TABLES);
      this.#database.exec(`PRAGMA user_version = ${VERSION}`);
    });
  }

  /** Changes rows. */
  run(sql: string, ...values: Bound[]): void {
    this.#prepared(sql).run(...values);
  }

  /** One row, or null. */
  get(sql: string, ...values: Bound[]): Row | null {
    return this.#prepared(sql).get(...values) ?? null;
  }

  all(sql: string, ...values: Bound[]): Row[] {
    return this.#prepared(sql).all(...values);
  }

  /** Does all of it or, when it throws, nothing. */
  transaction<Result>(body: () => Result): Result {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = body();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #prepared(sql: string): ReturnType<DatabaseSync["prepare"]> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  [Symbol.dispose](): void {
    this.#database.close();
  }
}

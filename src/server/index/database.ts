/** What the server keeps in SQLite. */

import { DatabaseSync } from "node:sqlite";
import { UserError } from "../../base/user_error.ts";

/** What can be bound to a statement. */
export type Bound = string | number | Uint8Array | null;

/** A row that was read. */
export type DatabaseRow = Readonly<Record<string, unknown>>;

/** What a database holds. */
export interface Holding {
  /** In words, with an article. */
  readonly what: string;
  /** Counts up when the tables change. */
  readonly version: number;
  /** SQL that makes them. */
  readonly tables: string;
  /** Whether all of it can be made anew from elsewhere, so that tables of another version are dropped. */
  readonly isDerived: boolean;
}

/** A database, with its statements made once. */
export class Database implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>();

  /** @throws UserError when the file cannot be opened, or holds what another version has made and nobody can make anew */
  constructor(path: string, { what, version, tables, isDerived }: Holding) {
    try {
      this.#database = new DatabaseSync(path);
      // What can be made anew need not outlive a power cut.
      const synchronous = isDerived ? "NORMAL" : "FULL";
      this.#database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`);
      if (isDerived) this.#clearUnless(version);
      this.#make(version, tables);
    } catch (error) {
      const advice = isDerived
        ? "It holds nothing that the runs' folders do not: remove it"
        : "It is nowhere else: put it aside, and start again without what it holds";
      throw new UserError(
        `${path} cannot be opened as ${what}: ${(error as Error).message}. ${advice}, or choose ` +
          `another folder with --runs.`,
      );
    }
  }

  /** Of a new file: 0. */
  get #version(): number {
    return Number(this.#database.prepare("PRAGMA user_version").get()?.user_version);
  }

  #clearUnless(version: number): void {
    if (this.#version === version) return;
    this.transaction(() => {
      const found = this.#database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        .all();
      for (const { name } of found) this.#database.exec(`DROP TABLE "${name}"`);
      this.#database.exec("PRAGMA user_version = 0");
    });
  }

  #make(version: number, tables: string): void {
    const found = this.#version;
    if (found === version) return;
    if (found !== 0) throw new Error(`it is of version ${found}, and this program's is ${version}`);
    this.transaction(() => {
      this.#database.exec(tables);
      this.#database.exec(`PRAGMA user_version = ${version}`);
    });
  }

  /** Changes rows. */
  run(sql: string, ...values: Bound[]): void {
    this.#prepared(sql).run(...values);
  }

  /** One row, or null. */
  get(sql: string, ...values: Bound[]): DatabaseRow | null {
    return this.#prepared(sql).get(...values) ?? null;
  }

  all(sql: string, ...values: Bound[]): DatabaseRow[] {
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

/** Whether an error says that the disk is full: SQLite's way to say it, and the system's. */
export function isDiskFull(error: Error): boolean {
  return (error as { errcode?: unknown }).errcode === 13 || /\(os error 28\)/.test(error.message);
}

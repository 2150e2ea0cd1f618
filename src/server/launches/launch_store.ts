import { type Database, isDiskFull } from "../index/database.ts";
import type { RunLaunch } from "../runs/launch.ts";

/** What the server was asked to start, kept where a server that is started again finds it. */
export class LaunchStore {
  readonly #unwritten = new Map<string, RunLaunch>();

  constructor(readonly database: Database) {}

  /** By the runs' names, in the order in which they were asked for. */
  all(): [name: string, launch: RunLaunch][] {
    return this.database.all("SELECT run, launch FROM launches ORDER BY id").map((
      { run, launch },
    ) => [String(run), this.#unwritten.get(String(run)) ?? JSON.parse(String(launch))]);
  }

  find(name: string): RunLaunch | null {
    const row = this.database.get("SELECT launch FROM launches WHERE run = ?", name);
    return this.#unwritten.get(name) ?? (row && JSON.parse(String(row.launch)));
  }

  /** Puts a launch at the end, in place of an earlier one of the run. */
  add(name: string, launch: RunLaunch): void {
    this.remove(name);
    this.database.run(
      "INSERT INTO launches (run, launch) VALUES (?, ?)",
      ...[name, JSON.stringify(launch)],
    );
  }

  /** Changes what is known of a launch, or throws; nothing happens when there is none. */
  change(name: string, change: Partial<RunLaunch>): void {
    const launch = this.find(name);
    if (launch !== null) this.#write(name, { ...launch, ...change });
  }

  /** As `change`, of what has happened: where a full disk does not take it, it is known until `writeRest` can. */
  note(name: string, change: Partial<RunLaunch>): void {
    const launch = this.find(name);
    if (launch === null) return;
    this.#unwritten.set(name, { ...launch, ...change });
    this.writeRest();
  }

  /** Writes what could not be written before, if that is possible now. */
  writeRest(): void {
    try {
      for (const [name, launch] of this.#unwritten) this.#write(name, launch);
    } catch (error) {
      if (!(error instanceof Error && isDiskFull(error))) throw error;
    }
  }

  #write(name: string, launch: RunLaunch): void {
    this.database.run(
      "UPDATE launches SET launch = ? WHERE run = ?",
      ...[JSON.stringify(launch), name],
    );
    this.#unwritten.delete(name);
  }

  remove(name: string): void {
    this.database.run("DELETE FROM launches WHERE run = ?", name);
    this.#unwritten.delete(name);
  }

  /** The run that a request with this key has started before, and that request. */
  answered(key: string): { readonly request: string; readonly run: string } | null {
    const row = this.database.get("SELECT request, run FROM answered WHERE key = ?", key);
    return row && { request: String(row.request), run: String(row.run) };
  }

  /** Remembers which run a request has started, for a day. */
  answer(key: string, request: string, run: string): void {
    const now = Date.now();
    this.database.run("DELETE FROM answered WHERE time < ?", now - 24 * 3600 * 1000);
    this.database.run(
      "INSERT INTO answered (key, request, run, time) VALUES (?, ?, ?, ?)",
      ...[key, request, run, now],
    );
  }
}

import { RunFolder } from "../../run/store/run_folder.ts";
import type { MetricsLine } from "../../run/store/metrics_log.ts";
import type { Sample } from "../../run/store/samples_log.ts";
import type { EventLine } from "../../run/events/told_event.ts";
import { Columns } from "./columns.ts";
import type { Database } from "./database.ts";
import { type GrownLine, type Position, readGrowth, START } from "./growth.ts";
import { type Progress, progressAfter, UNTOLD } from "./progress.ts";
import { sampleTraits } from "./sample_traits.ts";

/** What a row of metrics was of, as its column has it. */
export const PHASES = ["generator", "verifier", "evaluation"] as const;

/** Columns that are no metrics. */
export const ROW = { step: "step", phase: "phase", begin: "begin" } as const;

type LogFile = "metrics" | "timings" | "samples" | "events";

/** A run as the index has it. */
export interface IndexedRun {
  readonly id: number;
  readonly name: string;
  readonly progress: Progress;
  /** Rows of metrics. */
  readonly rows: number;
}

/** The rows of one run's logs, read as they grow. A log's rows and how far it was read change together. */
export class RunIndex {
  readonly columns: Columns;
  readonly #rows = new Map<number, number>();
  readonly #lastEvents = new Map<number, number>();

  constructor(readonly database: Database) {
    this.columns = new Columns(database);
  }

  /**
   * The run in a folder, which is new when another run was there before.
   *
   * @param mark what tells that run from another one of the same name
   */
  find(name: string, mark: string): IndexedRun {
    const row = this.database.get("SELECT id, mark, progress FROM runs WHERE name = ?", name);
    if (row?.mark === mark) return this.#indexed(Number(row.id), name, String(row.progress));
    if (row) this.remove(Number(row.id));
    const progress = JSON.stringify(UNTOLD);
    this.database.run(
      "INSERT INTO runs (name, mark, progress) VALUES (?, ?, ?)",
      ...[name, mark, progress],
    );
    const id = Number(this.database.get("SELECT id FROM runs WHERE name = ?", name)?.id);
    return this.#indexed(id, name, progress);
  }

  #indexed(id: number, name: string, progress: string): IndexedRun {
    const rows = this.rowsOf(id);
    const told = JSON.parse(progress) as Progress;
    // Runs of earlier versions told nothing, but measured.
    const isUntold = told.startedAt === null && rows > 0;
    const step = isUntold ? this.columns.read(id, ROW.step, rows)[rows - 1] : told.step;
    return { id, name, progress: { ...told, step }, rows };
  }

  /** Forgets a run. */
  remove(run: number): void {
    this.database.transaction(() => {
      for (const table of ["files", "columns", "names", "samples", "events"]) {
        this.database.run(`DELETE FROM ${table} WHERE run = ?`, run);
      }
      this.database.run("DELETE FROM runs WHERE id = ?", run);
    });
    this.#forget(run);
  }

  /** Forgets what is in memory: after a transaction that was taken back it may be wrong. */
  #forget(run: number): void {
    this.columns.forget();
    this.#rows.delete(run);
    this.#lastEvents.delete(run);
  }

  /** The number of a run's last event; 0 when there is none. */
  lastEvent(run: number): number {
    return this.#lastEvents.getOrInsertComputed(run, () => {
      const row = this.database.get("SELECT max(number) AS last FROM events WHERE run = ?", run);
      return Number(row?.last ?? 0);
    });
  }

  /** Rows of metrics that a run has. */
  rowsOf(run: number): number {
    return this.#rows.getOrInsertComputed(run, () => this.#countRows(run));
  }

  #countRows(run: number): number {
    const row = this.database.get(
      "SELECT chunk, data FROM columns WHERE run = ? AND name = ? ORDER BY chunk DESC LIMIT 1",
      ...[run, ROW.begin],
    );
    if (row === null) return 0;
    const values = new Float64Array((row.data as Uint8Array).slice().buffer);
    return Number(row.chunk) * values.length +
      values.filter((value) => !Number.isNaN(value)).length;
  }

  /**
   * Reads a part of what is new in a run's logs.
   *
   * @returns the events among it, and whether there is more
   */
  update(
    run: number,
    folder: RunFolder,
  ): { readonly events: readonly string[]; readonly isMore: boolean } {
    try {
      const told = this.#read(run, "events", folder.events);
      const others = (["metrics", "timings", "samples"] as const)
        .map((file) => this.#read(run, file, folder[file]));
      const isMore = [told, ...others].some((part) => part.isMore);
      return { events: told.lines.map(({ text }) => text), isMore };
    } catch (error) {
      this.#forget(run);
      throw error;
    }
  }

  #read(
    run: number,
    file: LogFile,
    path: string,
  ): { readonly lines: readonly GrownLine[]; readonly isMore: boolean } {
    const growth = readGrowth(path, this.#position(run, file));
    if (growth.kind === "none") return { lines: [], isMore: false };
    if (growth.kind === "cut") {
      this.database.transaction(() => {
        this.#cut(run, file, growth.position.offset);
        this.#setPosition(run, file, growth.position);
      });
      return { lines: [], isMore: true };
    }
    const { lines, position, isMore } = growth;
    return this.database.transaction(() => {
      const taken = this.#take(run, file, lines);
      if (!taken) return { lines: [], isMore: false };
      this.#setPosition(run, file, position);
      return { lines, isMore };
    });
  }

  /** @returns whether they can be taken: a time waits for what it was measured of */
  #take(run: number, file: LogFile, lines: readonly GrownLine[]): boolean {
    switch (file) {
      case "metrics":
        this.#takeMetrics(run, lines);
        return true;
      case "timings":
        return this.#takeTimings(run, lines);
      case "samples":
        this.#takeSamples(run, lines);
        return true;
      case "events":
        this.#takeEvents(run, lines);
        return true;
    }
  }

  #takeMetrics(run: number, lines: readonly GrownLine[]): void {
    const rows = this.rowsOf(run);
    const entries = new Map<string, [number, number][]>();
    lines.forEach(({ text, begin }, index) => {
      const { step, phase, ...metrics } = JSON.parse(text) as MetricsLine;
      const row = rows + index;
      add(entries, ROW.step, row, step);
      add(entries, ROW.phase, row, PHASES.indexOf(phase));
      add(entries, ROW.begin, row, begin);
      for (const [name, value] of Object.entries(metrics)) {
        if (typeof value === "number") add(entries, name, row, value);
      }
    });
    for (const [name, ofName] of entries) this.columns.write(run, name, ofName);
    this.#rows.set(run, rows + lines.length);
  }

  #takeTimings(run: number, lines: readonly GrownLine[]): boolean {
    const rows = this.rowsOf(run);
    const steps = this.columns.read(run, ROW.step, rows);
    const phases = this.columns.read(run, ROW.phase, rows);
    const entries = new Map<string, [number, number][]>();
    for (const { text } of lines) {
      const { step, phase, ...timings } = JSON.parse(text) as MetricsLine;
      let row = firstAtLeast(steps, step);
      while (row < rows && steps[row] === step && PHASES[phases[row]] !== phase) row++;
      if (steps[row] !== step) return false;
      for (const [name, value] of Object.entries(timings)) {
        if (typeof value === "number") add(entries, name, row, value);
      }
    }
    for (const [name, ofName] of entries) this.columns.write(run, name, ofName);
    return true;
  }

  #takeSamples(run: number, lines: readonly GrownLine[]): void {
    for (const { text, begin } of lines) {
      const sample = JSON.parse(text) as Sample;
      const { length, disagrees, isCut, isMalformed } = sampleTraits(sample);
      this.database.run(
        `INSERT OR REPLACE INTO samples (run, begin, step, problem, length, disagrees, cut, malformed, line)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[run, begin, sample.step, sample.problem, length],
        ...[Number(disagrees), Number(isCut), Number(isMalformed), text],
      );
    }
  }

  #takeEvents(run: number, lines: readonly GrownLine[]): void {
    const row = this.database.get("SELECT progress FROM runs WHERE id = ?", run);
    let progress = JSON.parse(String(row?.progress)) as Progress;
    for (const { text } of lines) {
      const event = JSON.parse(text) as EventLine;
      progress = progressAfter(progress, event);
      this.database.run(
        "INSERT OR REPLACE INTO events (run, number, type, step, line) VALUES (?, ?, ?, ?, ?)",
        ...[run, event.number, event.type, "step" in event ? event.step : null, text],
      );
    }
    this.database.run("UPDATE runs SET progress = ? WHERE id = ?", JSON.stringify(progress), run);
    this.#lastEvents.delete(run);
  }

  /** Takes back the rows of lines from `offset` on. */
  #cut(run: number, file: LogFile, offset: number): void {
    switch (file) {
      case "metrics": {
        const rows = firstAtLeast(this.columns.read(run, ROW.begin, this.rowsOf(run)), offset);
        this.columns.cut(run, rows);
        this.#rows.set(run, rows);
        // Their times are read again.
        this.#setPosition(run, "timings", START);
        break;
      }
      case "samples":
        this.database.run("DELETE FROM samples WHERE run = ? AND begin >= ?", run, offset);
        break;
      case "timings":
        break; // each belongs to a row of metrics, and is written over
      case "events":
        if (offset > 0) break; // what was told stays told: only a line cut short is ever taken back
        this.database.run("DELETE FROM events WHERE run = ?", run);
        this.#lastEvents.delete(run);
        this.database.run("UPDATE runs SET progress = ? WHERE id = ?", JSON.stringify(UNTOLD), run);
        break;
    }
  }

  #position(run: number, file: LogFile): Position {
    const row = this.database.get(
      "SELECT offset, mark FROM files WHERE run = ? AND file = ?",
      ...[run, file],
    );
    return row ? { offset: Number(row.offset), mark: row.mark as Uint8Array } : START;
  }

  #setPosition(run: number, file: LogFile, { offset, mark }: Position): void {
    this.database.run(
      "INSERT OR REPLACE INTO files (run, file, offset, mark) VALUES (?, ?, ?, ?)",
      ...[run, file, offset, mark],
    );
  }
}

function add(entries: Map<string, [number, number][]>, name: string, row: number, value: number) {
  const ofName = entries.get(name);
  if (ofName) ofName.push([row, value]);
  else entries.set(name, [[row, value]]);
}

/** The first place in ascending numbers whose number is at least `wanted`; their count when there is none. */
export function firstAtLeast(numbers: Float64Array, wanted: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

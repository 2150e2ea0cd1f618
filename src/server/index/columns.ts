import type { Database } from "./database.ts";

/** Rows of a column in one blob. */
const CHUNK = 512;
/** Bytes of columns that are kept in memory. */
const CACHE_BYTES = 512 << 20;

/** Rows of which sums are kept: the mean of whole blocks is cheap. */
export const BLOCK = 64;

/** One number for each row of a run's metrics; NaN where a row has none. */
interface CachedColumn {
  values: Float64Array;
  length: number;
  /** Of the numbers in each block: their sum, and how many there are. */
  sums: Float64Array;
  counts: Float64Array;
  /** Blocks whose sums are right. */
  summed: number;
}

/** The metrics of the runs, as a column for each name: what is drawn of a million rows is a few of them. */
export class Columns {
  /** The last used is the last. */
  readonly #cache = new Map<string, CachedColumn>();
  #cachedBytes = 0;

  constructor(private readonly database: Database) {}

  /** Writes values at rows, which ascend, within a transaction. */
  write(
    run: number,
    name: string,
    entries: readonly (readonly [row: number, value: number])[],
  ): void {
    const cached = this.#cache.get(keyOf(run, name));
    if (cached) this.#grow(cached, (entries.at(-1)?.[0] ?? -1) + 1);
    for (const [chunk, ofChunk] of Map.groupBy(entries, ([row]) => Math.floor(row / CHUNK))) {
      const values = this.#chunk(run, name, chunk);
      for (const [row, value] of ofChunk) {
        values[row % CHUNK] = value;
        if (!cached) continue;
        cached.values[row] = value;
        cached.summed = Math.min(cached.summed, Math.floor(row / BLOCK));
      }
      this.database.run(
        "INSERT OR REPLACE INTO columns (run, name, chunk, data) VALUES (?, ?, ?, ?)",
        ...[run, name, chunk, new Uint8Array(values.buffer)],
      );
    }
    this.database.run("INSERT OR IGNORE INTO names (run, name) VALUES (?, ?)", run, name);
  }

  /** Takes back the rows from `rows` on, within a transaction. */
  cut(run: number, rows: number): void {
    this.forget();
    const last = Math.floor(rows / CHUNK);
    this.database.run("DELETE FROM columns WHERE run = ? AND chunk > ?", run, last);
    const chunks = this.database.all(
      "SELECT name, data FROM columns WHERE run = ? AND chunk = ?",
      ...[run, last],
    );
    for (const { name, data } of chunks) {
      const values = numbersOf(data as Uint8Array).fill(NaN, rows % CHUNK);
      this.database.run(
        "UPDATE columns SET data = ? WHERE run = ? AND name = ? AND chunk = ?",
        ...[new Uint8Array(values.buffer), run, name as string, last],
      );
    }
    if (rows === 0) this.database.run("DELETE FROM names WHERE run = ?", run);
  }

  /**
   * Means of a column over spans of rows that follow each other; null where a span has no number.
   *
   * @param rows how many the run has
   * @param firsts the first row of each span, and the row after the last
   */
  means(
    run: number,
    name: string,
    rows: number,
    firsts: Float64Array,
  ): (number | null)[] {
    const { values, sums, counts } = this.#summed(this.#column(run, name, rows));
    const means = new Array<number | null>(firsts.length - 1);
    for (let span = 0; span < means.length; span++) {
      const next = firsts[span + 1];
      let [sum, count, row] = [0, 0, firsts[span]];
      while (row < next) {
        if (row % BLOCK === 0 && row + BLOCK <= next) {
          sum += sums[row / BLOCK];
          count += counts[row / BLOCK];
          row += BLOCK;
          continue;
        }
        const value = values[row++];
        if (value !== value) continue; // NaN: the row has none
        sum += value;
        count++;
      }
      means[span] = count === 0 ? null : sum / count;
    }
    return means;
  }

  /** A column's first rows; rows that it was never written for are NaN. */
  read(run: number, name: string, rows: number): Float64Array {
    return this.#column(run, name, rows).values.subarray(0, rows);
  }

  #summed(column: CachedColumn): CachedColumn {
    const whole = Math.floor(column.length / BLOCK);
    if (column.sums.length < whole) {
      const longer = (before: Float64Array) => {
        const after = new Float64Array(2 * whole);
        after.set(before);
        return after;
      };
      column.sums = longer(column.sums);
      column.counts = longer(column.counts);
    }
    for (let block = column.summed; block < whole; block++) {
      let [sum, count] = [0, 0];
      for (let row = block * BLOCK; row < (block + 1) * BLOCK; row++) {
        const value = column.values[row];
        if (value !== value) continue;
        sum += value;
        count++;
      }
      column.sums[block] = sum;
      column.counts[block] = count;
    }
    column.summed = whole;
    return column;
  }

  #column(run: number, name: string, rows: number): CachedColumn {
    const key = keyOf(run, name);
    let column = this.#cache.get(key);
    if (column) this.#cache.delete(key);
    else column = this.#load(run, name, rows);
    this.#cache.set(key, column);
    this.#grow(column, rows);
    return column;
  }

  /** Forgets what is in memory: after a transaction that was taken back it may be wrong. */
  forget(): void {
    this.#cache.clear();
    this.#cachedBytes = 0;
  }

  #load(run: number, name: string, rows: number): CachedColumn {
    const column: CachedColumn = {
      values: new Float64Array(0),
      length: 0,
      sums: new Float64Array(0),
      counts: new Float64Array(0),
      summed: 0,
    };
    this.#grow(column, rows);
    const chunks = this.database.all(
      "SELECT chunk, data FROM columns WHERE run = ? AND name = ? ORDER BY chunk",
      ...[run, name],
    );
    for (const { chunk, data } of chunks) {
      const begin = Number(chunk) * CHUNK;
      this.#grow(column, begin + CHUNK);
      new Uint8Array(column.values.buffer, 8 * begin).set(data as Uint8Array);
    }
    return column;
  }

  #chunk(run: number, name: string, chunk: number): Float64Array<ArrayBuffer> {
    const row = this.database.get(
      "SELECT data FROM columns WHERE run = ? AND name = ? AND chunk = ?",
      ...[run, name, chunk],
    );
    return row ? numbersOf(row.data as Uint8Array) : new Float64Array(CHUNK).fill(NaN);
  }

  #grow(column: CachedColumn, rows: number): void {
    if (column.values.length < rows) {
      const grown = new Float64Array(Math.max(CHUNK, 2 * column.values.length, rows)).fill(NaN);
      grown.set(column.values);
      this.#cachedBytes += 8 * (grown.length - column.values.length);
      column.values = grown;
    }
    column.length = Math.max(column.length, rows);
    if (this.#cachedBytes > CACHE_BYTES) this.#evict();
  }

  #evict(): void {
    for (const [key, { values }] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES) return;
      this.#cache.delete(key);
      this.#cachedBytes -= 8 * values.length;
    }
  }
}

const keyOf = (run: number, name: string) => `${run}/${name}`;

/** A copy, for the bytes need not lie where numbers may. */
function numbersOf(bytes: Uint8Array): Float64Array<ArrayBuffer> {
  return new Float64Array(bytes.slice().buffer);
}

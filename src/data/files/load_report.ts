import { type Place, placeText } from "./row.ts";

/** Rows of one entry that were dropped for one reason. */
export interface Dropped {
  readonly reason: string;
  readonly count: number;
  /** The first of them: file and line or row. */
  readonly first: string;
}

/** Counts of the rows of an entry of a data set, by what became of them. */
export interface EntryReport {
  readonly path: string;
  /** Rows that were read; less than the file has where a limit was reached. */
  readonly rows: number;
  readonly records: number;
  readonly dropped: readonly Dropped[];
  /** Number of records of each source. */
  readonly sources: Readonly<Record<string, number>>;
  /** The guessed reading: `format: gsm8k` or `columns: question = "problem"`. */
  readonly guessed: string | null;
}

/** Counts of the rows of a data set, by what became of them. */
export interface LoadReport {
  readonly records: number;
  readonly entries: readonly EntryReport[];
}

/** A report in words, one line for every path and one for each reason below it. */
export function reportText({ entries }: LoadReport): string {
  return entries.flatMap(({ path, rows, records, dropped, guessed }) => [
    `${path}: ${records} of ${rows} rows are used` + (guessed ? ` (${guessed})` : ""),
    ...dropped.map(({ reason, count, first }) => `  ${count} dropped: ${reason} (first: ${first})`),
  ]).join("\n");
}

/** Counts what becomes of the rows of one entry. */
export class EntryCounter {
  #rows = 0;
  #records = 0;
  readonly #dropped = new Map<string, { count: number; first: string }>();
  readonly #sources = new Map<string, number>();
  guessed: string | null = null;

  constructor(readonly path: string) {}

  /** Records kept so far. */
  get records(): number {
    return this.#records;
  }

  /** Counts a row that became a record. */
  keep(source: string): void {
    this.#rows++;
    this.#records++;
    this.#sources.set(source, (this.#sources.get(source) ?? 0) + 1);
  }

  /** Counts a row that did not, and why. */
  drop(reason: string, place: Place): void {
    this.#rows++;
    const entry = this.#dropped.get(reason);
    if (entry) entry.count++;
    else this.#dropped.set(reason, { count: 1, first: placeText(place) });
  }

  report(): EntryReport {
    return {
      path: this.path,
      rows: this.#rows,
      records: this.#records,
      dropped: [...this.#dropped].map(([reason, entry]) => ({ reason, ...entry })),
      sources: Object.fromEntries(this.#sources),
      guessed: this.guessed,
    };
  }
}

import { UserError } from "../../base/user_error.ts";
import { splitOf } from "../split.ts";
import { type ColumnMapping, mappedColumns } from "./column_mapping.ts";
import { findFormat } from "./formats.ts";
import {
  type Conversion,
  conversionOf,
  guessReading,
  type NamedReading,
  namedReading,
  type Reading,
} from "./guess_reading.ts";
import { type Dropped, EntryCounter } from "./load_report.ts";
import { streamRows } from "./read_rows.ts";
import type { DataRecord } from "./record.ts";
import { makeRecordFilter, normalized, type RecordFilters } from "./record_filter.ts";
import type { PlacedRow } from "./row.ts";

/** Uses of records, and what each needs. */
const USES = {
  /** Problems of reinforcement learning. */
  train: { requireAnswer: true },
  /** Fine-tuning that imitates solutions as written. */
  solutions: { requireSolution: true },
  /** Fine-tuning that imitates steps, or critiques of them. */
  steps: { requireSteps: true, requireAnswer: true },
  /** Fine-tuning by which of two responses is better. */
  pairs: { requireSolution: true, requireRejected: true },
} as const satisfies Record<string, RecordFilters>;
export const recordUses = Object.keys(USES) as (keyof typeof USES)[];
export type RecordUse = keyof typeof USES;

/** Records that a use gets from the rows. */
export interface UsableRecords {
  readonly records: number;
  /** Records among these that are set aside for validation unless files are named for it: see `splitOf`. */
  readonly validation: number;
  readonly test: number;
  readonly dropped: readonly Dropped[];
}

/** Records and problems found in the rows of a file or folder. */
export interface RecordCheck {
  /** Rows that were read. */
  readonly rows: number;
  /** Whether these are all. */
  readonly isWhole: boolean;
  readonly reading: NamedReading;
  readonly uses: Readonly<Record<RecordUse, UsableRecords>>;
  /** Rows that end a run, since they are not what the columns should hold. */
  readonly errors: number;
  readonly firstErrors: readonly string[];
  readonly firstRecords: readonly DataRecord[];
}

/** How the rows are to be read; neither: guessed. */
export interface AskedReading {
  readonly format?: string;
  readonly columns?: ColumnMapping;
}

const SHOWN = 5;

/**
 * Reads rows as a run would, but goes on after a malformed one.
 *
 * @param most how many rows are read
 * @throws UserError when the file cannot be read, or it cannot be told how
 */
export async function checkRecords(
  path: string,
  { format, columns }: AskedReading,
  most: number,
): Promise<RecordCheck> {
  let reading: Reading | null = columns
    ? { columns }
    : format
    ? { format: findFormat(format) }
    : null;
  let convert: Conversion | null = reading && conversionOf(reading);
  const uses = recordUses.map((use) => new CountedUse(use, path));
  const firstErrors: string[] = [];
  const firstRecords: DataRecord[] = [];
  let [rows, errors, isWhole] = [0, 0, true];
  for await (const { row, place } of streamRows(path, { columns: neededBy(reading) })) {
    if (rows === most) {
      isWhole = false;
      break;
    }
    rows++;
    reading ??= guessReading(path, row, place);
    convert ??= conversionOf(reading);
    try {
      const made = convert(row, place);
      for (const use of uses) use.count(made, place);
      if (!("leftOut" in made) && firstRecords.length < SHOWN) firstRecords.push(made);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      errors++;
      if (firstErrors.length < SHOWN) firstErrors.push(error.message);
    }
  }
  if (reading === null) throw new UserError(`${path}: there is no row in it.`);
  const counted = Object.fromEntries(uses.map(({ use, usable }) => [use, usable]));
  return {
    ...{ rows, isWhole, errors, firstErrors, firstRecords },
    reading: namedReading(reading),
    uses: counted as RecordCheck["uses"],
  };
}

function neededBy(reading: Reading | null): readonly string[] | undefined {
  if (reading === null) return undefined;
  return "format" in reading ? reading.format.columns : mappedColumns(reading.columns);
}

/** Counts what one use takes of the records. */
class CountedUse {
  readonly #counter: EntryCounter;
  readonly #filter;
  readonly #parts = { train: 0, validation: 0, test: 0 };

  constructor(readonly use: RecordUse, path: string) {
    this.#counter = new EntryCounter(path);
    this.#filter = makeRecordFilter(USES[use]);
  }

  count(made: ReturnType<Conversion>, place: PlacedRow["place"]): void {
    const reason = "leftOut" in made ? made.leftOut : this.#filter(made);
    if (reason !== null) return this.#counter.drop(reason, place);
    const { question, source } = made as DataRecord;
    this.#counter.keep(source);
    this.#parts[splitOf(normalized(question))]++;
  }

  get usable(): UsableRecords {
    const { records, dropped } = this.#counter.report();
    const { validation, test } = this.#parts;
    return { records, validation, test, dropped };
  }
}

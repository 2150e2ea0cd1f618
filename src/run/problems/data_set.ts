import { camelCased } from "../../base/camel_cased.ts";
import { type DataFiles, loadRecords } from "../../data/files/load_records.ts";
import { reportText } from "../../data/files/load_report.ts";
import type { DataRecord } from "../../data/files/record.ts";
import { normalized, type RecordFilters } from "../../data/files/record_filter.ts";
import {
  fileOrder,
  type RecordOrder,
  shuffledOrder,
  weightedOrder,
} from "../../data/files/record_order.ts";
import { type Split, splitOf } from "../../data/split.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import { UserError } from "../../base/user_error.ts";
import type { DataConfig, DataEntry } from "../config/data_schema.ts";

/** The records of a run, none of them in two parts. */
export interface DataSet extends Readonly<Record<Split, readonly DataRecord[]>> {
  /** How often each record of `train` comes in a pass. */
  readonly weights: readonly number[];
  /** Report on the files' rows: how many were taken or left out, and why. */
  readonly report: string;
}

/** An entry of the configuration as the readers take it. */
export const dataFiles = (
  { path, format, columns, source, skip, limit }: DataEntry,
): DataFiles => ({
  path,
  format: format ?? undefined,
  columns: columns ? camelCased(columns) : undefined,
  source: source ?? undefined,
  skip,
  limit: limit ?? undefined,
});

/**
 * Reads the files of a configuration. Where no files are named for validation or for the test, their part is
 * the tenth of the training files' questions that `splitOf` puts there: the same questions whatever else a
 * configuration says, so that none chooses or reports by what another trains on. Only a validation of null is
 * no part: its questions are trained on.
 *
 * @throws UserError naming file and place when something cannot be read, or nothing is left
 */
export function loadDataSet(config: DataConfig, requires: Requirements): Promise<DataSet> {
  const key = JSON.stringify(requires);
  let sets = loaded.get(config);
  if (!sets) loaded.set(config, sets = new Map());
  let set = sets.get(key);
  if (!set) sets.set(key, set = readDataSet(config, requires));
  return set;
}

/** Requirements of a use on its records. */
export interface Requirements extends
  Pick<
    RecordFilters,
    "requireAnswer" | "requireSolution" | "requireRejected" | "requireSteps"
  > {
  /** Whether there must be records to choose weights by. */
  readonly validation: boolean;
}

/** Purposes of the parts that no update sees. */
const PURPOSES = { test: "to be reported", validation: "to choose weights by" } as const;

/** A run's plan and the run itself read the same files. */
const loaded = new WeakMap<DataConfig, Map<string, Promise<DataSet>>>();

async function readDataSet(
  config: DataConfig,
  { validation: needsValidation, ...requires }: Requirements,
): Promise<DataSet> {
  const filters: RecordFilters = {
    ...requires,
    minimumQuestionCharacters: config.minimum_question_characters,
    maximumQuestionCharacters: config.maximum_question_characters ?? undefined,
    keepDuplicates: config.keep_duplicates,
  };
  const reports: string[] = [];
  const read = async (entries: readonly DataEntry[], filters: RecordFilters) => {
    const { report, ...loaded } = await loadRecords(entries.map(dataFiles), filters);
    // The report on the training files, which are read last, comes first.
    reports.unshift(reportText(report));
    return loaded;
  };
  // A benchmark is measured whole, also where it shares a question with another.
  const named = async (entries: readonly DataEntry[], exclude: readonly DataRecord[]) =>
    entries.length === 0
      ? null
      : (await read(entries, { ...filters, keepDuplicates: true, exclude })).records;
  const test = await named(config.held_out, []);
  const validation = config.validation && await named(config.validation, test ?? []);
  const all = await read(config.train, {
    ...filters,
    exclude: [...test ?? [], ...validation ?? []],
  });
  const isSetAside: Readonly<Record<Split, boolean>> = {
    train: false,
    validation: config.validation !== null && validation === null,
    test: test === null,
  };
  const parts: Record<Split, DataRecord[]> = { train: [], validation: [], test: [] };
  const weights: number[] = [];
  for (const [place, record] of all.records.entries()) {
    const asked = splitOf(normalized(record.question));
    const part = isSetAside[asked] ? asked : "train";
    parts[part].push(record);
    if (part === "train") weights.push(config.train[all.entryOf[place]].weight);
  }
  for (const { path, weight } of config.train) {
    if (weight !== 1) reports.push(`${path}: each record ${weight} times in a pass`);
  }
  for (const [part, key] of [["test", "held_out"], ["validation", "validation"]] as const) {
    if (!isSetAside[part]) continue;
    reports.push(`${parts[part].length} of them are set aside ${PURPOSES[part]}`);
    if (parts[part].length > 0 || (part === "validation" && !needsValidation)) continue;
    throw new UserError(
      `data.train has ${all.records.length} records, and none of them falls into the tenth of all questions that ` +
        `is set aside ${PURPOSES[part]}; name files with data.${key}.`,
    );
  }
  if (parts.train.length === 0) {
    throw new UserError(
      "data.train has no question that is not held out; name files with data.held_out.",
    );
  }
  return {
    train: parts.train,
    weights,
    validation: validation ?? parts.validation,
    test: test ?? parts.test,
    report: reports.join("\n"),
  };
}

/** The order of the records that are trained on, by their weights; a position in it is all that a resumed run needs. */
export function trainingOrder(
  weights: readonly number[],
  seed: number,
  shuffle: boolean,
): RecordOrder {
  if (weights.every((weight) => weight === 1)) return recordOrder(weights.length, seed, shuffle);
  return weightedOrder(weights, shuffle ? uniformOf(seed) : null);
}

const uniformOf = (seed: number) => (epoch: number, group: number) => {
  const random = new RandomStream(seed, streams.problems, epoch, group);
  return () => random.uniform();
};

/** The order in which records are gone through, each once in a pass. */
export function recordOrder(count: number, seed: number, shuffle: boolean): RecordOrder {
  if (!shuffle) return fileOrder(count);
  return shuffledOrder(count, (epoch) => uniformOf(seed)(epoch, 0));
}

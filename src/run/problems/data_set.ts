import { type DataFiles, loadRecords } from "../../data/files/load_records.ts";
import { reportText } from "../../data/files/load_report.ts";
import type { DataRecord } from "../../data/files/record.ts";
import { normalized, type RecordFilters } from "../../data/files/record_filter.ts";
import { fileOrder, type RecordOrder, shuffledOrder } from "../../data/files/record_order.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import { UserError } from "../../base/user_error.ts";
import type { DataConfig, DataEntry } from "../config/data_schema.ts";

/** The records of a run. */
export interface DataSet {
  readonly train: readonly DataRecord[];
  readonly heldOut: readonly DataRecord[];
  /** What became of the files' rows, in words. */
  readonly report: string;
}

/** An entry of the configuration as the readers take it. */
export const dataFiles = ({ path, format, columns, source, limit }: DataEntry): DataFiles => ({
  path,
  format: format ?? undefined,
  columns: columns
    ? {
      question: columns.question,
      answer: columns.answer,
      solution: columns.solution,
      solutionSteps: columns.solution_steps,
      source: columns.source,
      judgedSteps: columns.judged_steps,
      firstError: columns.first_error,
      comparison: columns.comparison,
    }
    : undefined,
  source: source ?? undefined,
  limit: limit ?? undefined,
});

/**
 * Reads the files of a configuration. Without files of held-out problems some of the training ones are set
 * aside; in either case no held-out question is trained on.
 *
 * @throws UserError naming file and place when something cannot be read, or nothing is left
 */
export function loadDataSet(
  config: DataConfig,
  requires: Requirements,
  setAside: SetAside,
): Promise<DataSet> {
  const key = JSON.stringify([requires, setAside]);
  let sets = loaded.get(config);
  if (!sets) loaded.set(config, sets = new Map());
  let set = sets.get(key);
  if (!set) sets.set(key, set = readDataSet(config, requires, setAside));
  return set;
}

/** What a use needs of a record. */
export type Requirements = Pick<
  RecordFilters,
  "requireAnswer" | "requireSolution" | "requireSteps"
>;

/** How many records are held out when no files of such are named, and the seed that chooses them. */
export interface SetAside {
  readonly count: number;
  readonly seed: number;
}

/** A run's plan and the run itself read the same files. */
const loaded = new WeakMap<DataConfig, Map<string, Promise<DataSet>>>();

async function readDataSet(
  config: DataConfig,
  requires: Requirements,
  setAside: SetAside,
): Promise<DataSet> {
  const filters: RecordFilters = {
    ...requires,
    minimumQuestionCharacters: config.minimum_question_characters,
    maximumQuestionCharacters: config.maximum_question_characters ?? undefined,
    keepDuplicates: config.keep_duplicates,
  };
  if (config.held_out.length > 0) {
    const heldOut = await loadRecords(config.held_out.map(dataFiles), filters);
    const exclude = heldOut.records;
    const train = await loadRecords(config.train.map(dataFiles), { ...filters, exclude });
    const report = [reportText(train.report), reportText(heldOut.report)].join("\n");
    return { train: train.records, heldOut: heldOut.records, report };
  }
  const { records, report } = await loadRecords(config.train.map(dataFiles), filters);
  if (records.length <= setAside.count) {
    throw new UserError(
      `data.train has ${records.length} records, and evaluation.problems sets ${setAside.count} of ` +
        `them aside; name files with data.held_out or lower evaluation.problems.`,
    );
  }
  const order = recordOrder(records.length, setAside.seed, true);
  const chosen = new Set(
    Array.from(
      { length: setAside.count },
      (_, place) => normalized(records[order.indexAt(place)].question),
    ),
  );
  const isChosen = ({ question }: DataRecord) => chosen.has(normalized(question));
  const train = records.filter((record) => !isChosen(record));
  if (train.length === 0) {
    throw new UserError(
      `data.train has no question but the ${chosen.size} that evaluation.problems sets aside; name files ` +
        `with data.held_out or lower evaluation.problems.`,
    );
  }
  return { train, heldOut: records.filter(isChosen), report: reportText(report) };
}

/** The order in which records are gone through; a position in it is all that a resumed run needs. */
export function recordOrder(count: number, seed: number, shuffle: boolean): RecordOrder {
  if (!shuffle) return fileOrder(count);
  return shuffledOrder(count, (epoch) => {
    const random = new RandomStream(seed, streams.problems, epoch, 0);
    return () => random.uniform();
  });
}

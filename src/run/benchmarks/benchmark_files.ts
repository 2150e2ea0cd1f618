import { join, relative } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { findDataFiles } from "../../data/files/data_paths.ts";
import { loadRecords } from "../../data/files/load_records.ts";
import type { Dropped } from "../../data/files/load_report.ts";
import type { DataRecord } from "../../data/files/record.ts";
import { matchesPattern } from "../../hub/choose_files.ts";
import type { Benchmark, Suite } from "../config/suite_schema.ts";

/** A benchmark with its problems. */
export interface LoadedBenchmark {
  readonly benchmark: Benchmark;
  /** All of them, in the files' order. */
  readonly records: readonly DataRecord[];
  /** Rows that are none of its problems, and why. */
  readonly leftOut: readonly Dropped[];
}

/** Folder that a benchmark's data set is fetched into. */
export function folderOf({ folder }: Pick<Suite, "folder">, { repository }: Benchmark): string {
  return join(folder, repository);
}

/** Paths of a benchmark's files; null when they are not there, or not all of them. */
export async function filesOf(
  suite: Pick<Suite, "folder">,
  benchmark: Benchmark,
): Promise<string[] | null> {
  const folder = folderOf(suite, benchmark);
  if (!exists(folder)) return null;
  let files: readonly string[];
  try {
    files = (await findDataFiles(folder)).map(({ path }) => path);
  } catch (error) {
    if (error instanceof UserError) return null; // none has been fetched
    throw error;
  }
  const found = benchmark.files.map((pattern) =>
    files.filter((path) => matchesPattern(relative(folder, path), pattern))
  );
  const all = [...new Set(found.flat())];
  return found.some((some) => some.length === 0) || lacksShards(all) ? null : all;
}

/** Whether some of the files are shards, such as train-00000-of-00002.parquet, of which others are not there. */
function lacksShards(files: readonly string[]): boolean {
  const shards = files.flatMap((path) => {
    const [, begin, of] = /^(.*)-\d+-of-(\d+)/.exec(path) ?? [];
    return begin === undefined ? [] : [{ set: `${begin} ${of}`, of: Number(of) }];
  });
  return Map.groupBy(shards, ({ set }) => set).values()
    .some((some) => some.length < some[0].of);
}

/**
 * Reads a benchmark's problems.
 *
 * @param files as `filesOf` gives them
 * @throws UserError naming file, row and column when one cannot be read, or no problem is there
 */
export async function loadBenchmark(
  benchmark: Benchmark,
  files: readonly string[],
): Promise<LoadedBenchmark> {
  const { name: source, format, group } = benchmark;
  const isProcess = group === "process";
  const { records, report } = await loadRecords(
    files.map((path) => ({ path, format, source })),
    // A benchmark is measured whole, also where it asks a question twice.
    { requireAnswer: !isProcess, requireJudged: isProcess, keepDuplicates: true },
  );
  return { benchmark, records, leftOut: report.entries.flatMap(({ dropped }) => dropped) };
}

import { UserError } from "../../base/user_error.ts";
import { parseRepository } from "../../hub/repository.ts";
import { folderOf } from "../../run/benchmarks/benchmark_files.ts";
import { chooseBenchmarks, loadSuite } from "../../run/benchmarks/suite.ts";
import { pullRepository } from "../pull/pull_repository.ts";
import type { BenchmarkOptions } from "./benchmarks.ts";

/** `benchmarks pull`. */
export async function pullBenchmarks({ suite: file, only = [] }: BenchmarkOptions): Promise<void> {
  const suite = loadSuite(file);
  const chosen = chooseBenchmarks(suite, only);
  // Benchmarks that are files of one repository are fetched at once.
  const sets = Map.groupBy(chosen, ({ repository, revision }) => `${repository} ${revision}`);
  for (const benchmarks of sets.values()) {
    const [{ repository, revision }] = benchmarks;
    const patterns = [...new Set(benchmarks.flatMap(({ files }) => files))];
    const folder = folderOf(suite, benchmarks[0]);
    try {
      const request = { revision, patterns, folder };
      if (await pullRepository(parseRepository(repository, "dataset"), request) === null) return;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const names = benchmarks.map(({ name }) => name).join(", ");
      throw new UserError(
        `${names}: ${error.message}\nWhich files are fetched from where, ${file} says; --only passes over others.`,
      );
    }
  }
}

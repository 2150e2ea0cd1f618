import { UserError } from "../../base/user_error.ts";
import type { Benchmark, Suite } from "../config/suite_schema.ts";
import { filesOf, loadBenchmark, type LoadedBenchmark } from "./benchmark_files.ts";
import { chooseBenchmarks } from "./suite.ts";

/** Who is to be measured on what. */
export interface Wanted {
  readonly model?: string;
  readonly verifier?: string;
  readonly only?: readonly string[];
}

/** The benchmarks that a generator solves, and those whose solutions a verifier judges. */
export interface ByRole<One> {
  readonly solved: readonly One[];
  readonly judged: readonly One[];
}

/**
 * The benchmarks for those who are to be measured.
 *
 * @throws UserError when one is wanted that nobody is there for, or somebody has none
 */
export function wantedBenchmarks(
  suite: Suite,
  { model, verifier, only = [] }: Wanted,
): ByRole<Benchmark> {
  if (model === undefined && verifier === undefined) {
    throw new UserError("Name a generator with --model, a verifier with --verifier, or both.");
  }
  const chosen = chooseBenchmarks(suite, only);
  const of = (isProcess: boolean, who: string | undefined, option: string, role: string) => {
    const own = chosen.filter(({ group }) => (group === "process") === isProcess);
    if (who === undefined && own.length > 0 && only.length > 0) {
      throw new UserError(`${own[0].name} measures a ${role}: name one with ${option}.`);
    }
    if (who !== undefined && own.length === 0) {
      throw new UserError(
        `${option}: none of the chosen benchmarks measures a ${role}. Leave it out, or choose others with --only.`,
      );
    }
    return who === undefined ? [] : own;
  };
  return {
    solved: of(false, model, "--model", "generator"),
    judged: of(true, verifier, "--verifier", "verifier"),
  };
}

/**
 * Reads the problems of benchmarks.
 *
 * @param suiteFile where the suite was read, for messages
 * @throws UserError naming all whose files are missing and the command that fetches them, or what is wrong with a file
 */
export async function loadWanted(
  suite: Suite,
  { solved, judged }: ByRole<Benchmark>,
  suiteFile: string | null,
): Promise<ByRole<LoadedBenchmark>> {
  const found = new Map<Benchmark, readonly string[]>();
  for (const benchmark of [...solved, ...judged]) {
    const files = await filesOf(suite, benchmark);
    if (files !== null) found.set(benchmark, files);
  }
  const missing = [...solved, ...judged].filter((one) => !found.has(one));
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name);
    const ofSuite = suiteFile === null ? "" : ` --suite ${suiteFile}`;
    const fetched = names.map((name) => ` --only ${name}`).join("");
    throw new UserError(
      `${
        names.join(", ")
      }: the files are not all in ${suite.folder}. Fetch them with ./tango benchmarks pull` +
        `${ofSuite}${fetched}, or choose others with --only.`,
    );
  }
  const load = async (benchmarks: readonly Benchmark[]) => {
    const loaded: LoadedBenchmark[] = [];
    for (const one of benchmarks) loaded.push(await loadBenchmark(one, found.get(one) ?? []));
    return loaded;
  };
  return { solved: await load(solved), judged: await load(judged) };
}

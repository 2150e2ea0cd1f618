import { UserError } from "../../base/user_error.ts";
import { loadYaml } from "../config/load_config.ts";
import {
  type Benchmark,
  benchmarkGroups,
  type Suite,
  suiteSchema,
} from "../config/suite_schema.ts";

/** The suite of the paper. */
export const DEFAULT_SUITE = "configs/benchmarks/tango.yaml";

/**
 * Reads a suite's file.
 *
 * @throws UserError with one line for each problem: place, key, what was found, what was expected
 */
export function loadSuite(file: string): Suite {
  return loadYaml(suiteSchema, file);
}

/**
 * The benchmarks that are called so, or whose group is, in the suite's order.
 *
 * @param only none: all
 * @throws UserError when a name is that of none
 */
export function chooseBenchmarks({ benchmarks }: Suite, only: readonly string[]): Benchmark[] {
  const isCalled = ({ name, group }: Benchmark, wanted: string) =>
    name === wanted || group === wanted;
  const unknown = only.find((wanted) => !benchmarks.some((one) => isCalled(one, wanted)));
  if (unknown !== undefined) {
    const groups = benchmarkGroups.filter((name) => benchmarks.some(({ group }) => group === name));
    throw new UserError(
      `--only ${unknown}: expected one of ${
        benchmarks.map(({ name }) => name).join(", ")
      }, or a group: ${groups.join(", ")}.`,
    );
  }
  return only.length === 0
    ? [...benchmarks]
    : benchmarks.filter((one) => only.some((wanted) => isCalled(one, wanted)));
}

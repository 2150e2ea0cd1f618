import { writeFileAtomically } from "../../../platform/files/atomic_file.ts";
import { UserError } from "../../../base/user_error.ts";
import { chainEnd } from "../../../run/report/chain_end.ts";
import { loadTangoConfig } from "../../../run/config/load_config.ts";
import { readJsonLines } from "../../../run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../run/store/metrics_log.ts";
import { runDeviceSchema } from "../../../run/store/run_device.ts";
import { RunFolder } from "../../../run/store/run_folder.ts";
import { readMeasuredRows, readSources, resultFile, type RunSource } from "./result_rows.ts";

const EVALUATIONS = "chains/evaluations.jsonl", SOURCES = "chains/runs.jsonl";

/**
 * Takes the evaluations of finished default runs into bench/results/chains, in the place of those of the same seeds.
 *
 * @throws UserError when one of them is no run, or has no chain of records
 */
export function collectRuns(paths: readonly string[]): void {
  const runs = paths.map(runOf);
  const seeds = new Set(runs.map(({ source }) => source.seed));
  const write = <Row extends { readonly seed: number }>(
    file: string,
    before: readonly Row[],
    added: readonly Row[],
  ) => {
    const rows = [...before.filter(({ seed }) => !seeds.has(seed)), ...added]
      .toSorted((a, b) => a.seed - b.seed);
    writeFileAtomically(
      resultFile(file),
      rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
    );
  };
  write(EVALUATIONS, readMeasuredRows(EVALUATIONS), runs.flatMap(({ evaluations }) => evaluations));
  write(SOURCES, readSources(SOURCES), runs.map(({ source }) => source));
}

function runOf(path: string) {
  const folder = RunFolder.open(path);
  const { seed } = loadTangoConfig(folder.configuration);
  const { adapter, driver, engine, program = null } = runDeviceSchema.parse(
    JSON.parse(Deno.readTextFileSync(folder.device)),
  );
  const chain = chainEnd(folder);
  if (chain === null) throw new UserError(`${path} has no chain of records.`);
  const source: RunSource = {
    seed,
    command: `./tango train --seed ${seed}`,
    program,
    device: `${driver ?? adapter}, ${engine} engine`,
    chain,
  };
  const evaluations = readJsonLines<MetricsLine>(folder.metrics)
    .filter(({ phase }) => phase === "evaluation")
    .map(({ phase: _, ...metrics }) => ({ seed, ...metrics }));
  return { source, evaluations };
}

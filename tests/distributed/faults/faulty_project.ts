import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { Mpiexec } from "../../../src/cli/ranks/mpiexec.ts";
import { assertSameFiles } from "../../run/killable_runs.ts";
import { tinyPolicies, tinyTask } from "../../run/tiny_policies.ts";
import type { TwoHosts } from "../two_hosts.ts";
import { type Fault, SILENCE_SECONDS } from "./fault.ts";
import { RankedRun } from "./ranked_run.ts";

/** What must be the same to the last byte, whatever happened. */
const comparedFiles = [
  "metrics.jsonl",
  "samples.jsonl",
  "generator/model.safetensors",
  "verifier/model.safetensors",
];

/** What came of a fault. */
export interface FaultReport {
  /** From the fault to the end of all ranks. */
  readonly seconds: number;
  readonly output: string;
}

/** How a run is started. */
interface Start {
  /** It goes on where it ended. */
  readonly resume?: boolean;
  /** Assignments to keys of the configuration. */
  readonly set?: readonly string[];
}

/** Runs of one small configuration, which must all leave the same. */
export class FaultyProject implements Disposable {
  readonly #folder = Deno.makeTempDirSync();
  readonly #config = join(this.#folder, "config.yaml");

  /** Writes policies and the configuration of a run of as many steps. */
  prepare(steps: number): void {
    const { generator, verifier } = tinyPolicies;
    const optimizer = { learning_rate: 0.003 };
    Deno.writeTextFileSync(
      this.#config,
      stringify({
        task: tinyTask,
        tuning: "default",
        generator: { model: generator, max_response_length: 48, optimizer },
        verifier: { model: verifier, max_response_length: 64, optimizer },
        rollout: { batch_size: 4, group_size: 2 },
        reduction: { shards: 4 },
        distributed: { silence_seconds: SILENCE_SECONDS },
        rewards: { generator_format_weight: 0.5, minimum_steps: 1 },
        schedule: {
          generator_steps: 1,
          verifier_steps: 1,
          total_training_steps: steps,
          test_frequency: 4,
          save_frequency: 1,
        },
        evaluation: { problems: 3 },
        samples_per_step: 3,
      }),
    );
  }

  /** Trains to the end on so many ranks. */
  async train(name: string, ranks: number, how: Start = {}): Promise<void> {
    using run = await this.#start(name, ranks, how);
    const { code, output, left } = await run.outcome();
    assert.equal(code, 0, output);
    assert.deepEqual(left, []);
  }

  /**
   * Trains until so many steps are logged and a moment has passed, then lets the fault strike.
   *
   * @throws when not all ranks end, or no message or several are printed
   */
  async suffer(
    name: string,
    ranks: number,
    fault: Fault,
    rank: number,
    { steps, milliseconds = 0, ...how }: Start & {
      readonly steps: number;
      readonly milliseconds?: number;
    },
  ): Promise<FaultReport> {
    using run = await this.#start(name, ranks, how);
    while (!run.has(rank) || this.#steps(name) < steps) await pause(20);
    await pause(milliseconds);
    const struck = performance.now();
    fault.strike(run, rank);
    const { code, output, left } = await run.outcome();
    const seconds = (performance.now() - struck) / 1000;
    const what = `${fault.name} on rank ${rank} of ${ranks}: ${output}`;
    assert.notEqual(code, 0, what);
    assert.deepEqual(left, [], what);
    // Where rank 0 is ended before it can speak, the launcher says what happened.
    assert.match(output, /KILLED BY SIGNAL: 9/.test(output) ? /./ : fault.message(rank), what);
    assert.ok((output.match(/The run has ended on all ranks/g) ?? []).length <= 1, what);
    return { seconds, output };
  }

  /**
   * Trains on two hosts until so many steps are logged and a moment has passed, and cuts the link between them.
   *
   * @param ranks of both hosts together
   * @throws when not all ranks end, or another message or several are printed
   */
  async sufferCut(
    name: string,
    hosts: TwoHosts,
    mpiexec: Mpiexec,
    ranks: number,
    { steps, milliseconds = 0 }: { readonly steps: number; readonly milliseconds?: number },
  ): Promise<FaultReport> {
    const args = ["train", "--run", join(this.#folder, name), "--config", this.#config];
    using run = RankedRun.startOn(hosts, mpiexec, this.#folder, ranks, args);
    while (!run.has(ranks - 1) || this.#steps(name) < steps) await pause(20);
    await pause(milliseconds);
    const struck = performance.now();
    hosts.cut();
    const { seconds, output } = await run.endedOn(hosts, struck);
    assert.match(
      output,
      new RegExp(
        "The run has ended on all ranks because of ranks? .* on host-b .*\n" +
          `Not a word for ${SILENCE_SECONDS} s, in the .* of step`,
      ),
    );
    assert.equal(output.match(/The run has ended on all ranks/g)?.length, 1, output);
    return { seconds, output };
  }

  /** Compares what two runs left. */
  compare(name: string, whole: string): void {
    assertSameFiles(join(this.#folder, name), join(this.#folder, whole), comparedFiles);
  }

  async #start(
    name: string,
    ranks: number,
    { resume = false, set = [] }: Start,
  ): Promise<RankedRun> {
    const run = ["--run", join(this.#folder, name)];
    const how = resume ? ["--resume"] : ["--config", this.#config];
    const changes = set.flatMap((assignment) => ["--set", assignment]);
    const started = await RankedRun.start(ranks, ["train", ...run, ...how, ...changes]);
    if (started === null) throw new Error("there is no MPI on this machine");
    return started;
  }

  #steps(name: string): number {
    const { metrics } = RunFolder.at(join(this.#folder, name));
    try {
      return readJsonLines<MetricsLine>(metrics)
        .filter(({ phase }) => phase !== "evaluation").length;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return 0;
      throw error;
    }
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `bank` from runs to tables, with policies that solve and judge a part of tiny problems. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { COMMANDS } from "../../src/cli/commands.ts";
import { splitOf } from "../../src/data/split.ts";
import { parseSolution } from "../../src/rl/text/parse_solution.ts";
import { readBank } from "../../src/run/bank/bank_file.ts";
import type { BankRow } from "../../src/run/bank/bank_measures.ts";
import type { JudgedSource } from "../../src/run/bank/judgments_file.ts";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { TaskProblems } from "../../src/run/problems/task_problems.ts";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { tinyColumns, tinyData } from "../run/tiny_data.ts";
import { tinyPolicies, tinyTask } from "../run/tiny_policies.ts";
import { runCaptured } from "./run_captured.ts";

/** Runs a command that must end with a code. */
async function run(code: number, ...args: string[]): Promise<string> {
  const result = await runCaptured(COMMANDS, args);
  assert.equal(result.code, code, `${args.join(" ")}\n${result.printed}`);
  return result.printed;
}

const jsonLines = <Line>(path: string): Line[] =>
  Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));

const configuration = (problems: object) => ({
  ...problems,
  generator: {
    model: tinyPolicies.generator,
    max_response_length: 13,
    optimizer: { learning_rate: 0.003 },
  },
  verifier: {
    model: tinyPolicies.verifier,
    max_response_length: 20,
    optimizer: { learning_rate: 0.003 },
  },
  tuning: "default",
  rollout: { batch_size: 4, group_size: 4 },
  schedule: {
    generator_steps: 1,
    total_training_steps: 4,
    save_frequency: 1,
    keep_checkpoints: 10,
  },
  evaluation: { problems: 10 },
});

/** Over all pairs of a right and a wrong solution. */
function slowAuroc(solutions: readonly { right: boolean; score: number }[]): number {
  const of = (kind: boolean) => solutions.filter(({ right }) => right === kind);
  const wins = of(true).flatMap((one) =>
    of(false).map((other) => one.score > other.score ? 1 : one.score === other.score ? 0.5 : 0)
  );
  return wins.reduce<number>((sum, win) => sum + win, 0) / wins.length;
}

Deno.test({
  name: "bank: is made, judged, and not judged twice",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const path = (name: string) => join(folder, name);
    const train = async (name: string, problems: object) => {
      Deno.writeTextFileSync(path(`${name}.yaml`), stringify(configuration(problems)));
      await run(0, "train", "--config", path(`${name}.yaml`), "--run", path(name));
    };
    // In a folder that is not there yet.
    const bank = path("banks/bank.jsonl"), out = path("banks/bank-judged");
    const judge = ["bank", "judge", "--bank", bank, "--run", path("run"), "--samples", "2"];
    try {
      await train("run", { task: tinyTask });
      const saved = listCheckpoints(RunFolder.at(path("run")).checkpoints).map(({ step }) => step);
      assert.ok(saved.length >= 3, saved.join());

      await test.step("make: half of each source is right, labels are the task's", async () => {
        const make = ["bank", "make", "--run", path("run"), "--problems", "24"];
        await run(0, ...make, "--output", bank);
        const { solutions, bySource } = readBank(bank);
        const last = saved[saved.length - 1];
        assert.ok(bySource.has(tinyPolicies.generator) && bySource.has("corruptions"));
        assert.ok(bySource.has(`${path("run")}@${last}`), [...bySource.keys()].join());
        for (const [source, places] of bySource) {
          const right = places.filter((place) => solutions[place].correct).length;
          assert.equal(2 * right, places.length, source);
          assert.ok(places.length <= 24);
        }
        const config = loadTangoConfig(RunFolder.at(path("run")).configuration);
        const { seed, rollout, evaluation } = config;
        const tiny = new TaskProblems(config.task, seed, { seed: evaluation.seed, problems: 10 });
        const trainedOn = [1, 2, 3, 4].flatMap((step) =>
          tiny.draw(step, rollout.batch_size).map(({ question }) => question)
        );
        assert.equal(trainedOn.length, 16);
        for (const { problem, reference, solution, correct, steps } of solutions) {
          assert.ok(!trainedOn.includes(problem), problem);
          // The answer to a word is its last letter, and so is what its only step has to claim.
          assert.equal(reference, problem.slice(-1));
          const parsed = parseSolution(solution);
          assert.equal(correct, parsed.answer?.trim() === reference);
          const claims = parsed.steps.map(({ text }) => /^[a-z]+:([a-z])$/.exec(text)?.[1]);
          assert.deepEqual(steps, claims.map((claim, k) => k === 0 && claim === reference));
        }
        assert.match(await run(2, ...make, "--output", bank), /There is a file .*bank\.jsonl/);
        await run(0, ...make, "--output", path("again.jsonl"));
        assert.equal(Deno.readTextFileSync(path("again.jsonl")), Deno.readTextFileSync(bank));
        await run(0, ...make, "--seed", "1", "--output", path("other.jsonl"));
        assert.notEqual(Deno.readTextFileSync(path("other.jsonl")), Deno.readTextFileSync(bank));
      });

      await test.step("judge: measures every checkpoint, as counted from its judgments", async () => {
        const printed = await run(0, ...judge);
        assert.match(printed, /\| verifier +\| +AUROC \| verdicts \| +steps \|/);
        const { solutions, bySource } = readBank(bank);
        const judgments = jsonLines<JudgedSource>(join(out, "judgments.jsonl"));
        const rows = jsonLines<BankRow>(join(out, "rows.jsonl"));
        const verifiers = [tinyPolicies.verifier, ...saved.map((step) => `${path("run")}@${step}`)];
        assert.deepEqual(
          rows.map(({ verifier, source }) => `${verifier} ${source}`),
          verifiers.flatMap((one) =>
            [...bySource.keys(), "all"].map((source) => `${one} ${source}`)
          ),
        );
        const seen = new Set<number>();
        for (const row of rows.filter(({ source }) => source !== "all")) {
          const line = judgments.find(({ verifier, source }) =>
            verifier === row.verifier && source === row.source
          );
          const places = bySource.get(row.source) ?? [];
          assert.ok(line !== undefined && line.critiques.length === places.length);
          const judged = places.map((place, i) => ({
            right: solutions[place].correct,
            score: line.critiques[i].reduce(
              (sum, { probability }) => sum + (probability ?? 0),
              0,
            ),
            verdicts: line.critiques[i].map(({ verdict }) => verdict),
          }));
          assert.ok(judged.every(({ verdicts }) => verdicts.length === 2));
          assert.ok(Math.abs((row.auroc ?? NaN) - slowAuroc(judged)) < 1e-12);
          const recall = (kind: boolean) => {
            const own = judged.filter(({ right }) => right === kind).flatMap(({ verdicts }) =>
              verdicts
            );
            return own.filter((verdict) => verdict === kind).length / own.length;
          };
          assert.equal(row.balanced_accuracy, (recall(true) + recall(false)) / 2);
          assert.equal(typeof row.step_balanced_accuracy, "number");
          seen.add(row.balanced_accuracy);
        }
        assert.ok(seen.size > 1, "verifiers differ");
        // The run's newest verifier is the one that it left.
        await run(0, ...judge, "--model", RunFolder.at(path("run")).weights("verifier"));
        const all = jsonLines<BankRow>(join(out, "rows.jsonl")).filter(({ source }) =>
          source === "all"
        );
        const [left, newest] = [all.at(-1), all.at(-2)];
        assert.equal(left?.verifier, RunFolder.at(path("run")).weights("verifier"));
        assert.deepEqual({ ...left, ...NAMES }, { ...newest, ...NAMES });
      });

      await test.step("judge: a second time nothing is judged, and what was lost alone", async () => {
        const file = join(out, "judgments.jsonl");
        const before = Deno.readTextFileSync(file),
          rows = Deno.readTextFileSync(join(out, "rows.csv"));
        const printed = await run(0, ...judge);
        assert.doesNotMatch(printed, / judges \d/);
        assert.match(
          printed,
          new RegExp(`${saved.length + 1} of ${saved.length + 1} verifiers had`),
        );
        assert.equal(Deno.readTextFileSync(file), before);
        const lines = before.split("\n");
        Deno.writeTextFileSync(file, [...lines.slice(0, 1), ...lines.slice(2)].join("\n"));
        const repaired = await run(0, ...judge);
        assert.equal(repaired.match(/ judges \d/g)?.length, 1);
        const sorted = (text: string) => text.split("\n").sort();
        assert.deepEqual(sorted(Deno.readTextFileSync(file)), sorted(before));
        assert.deepEqual(sorted(Deno.readTextFileSync(join(out, "rows.csv"))), sorted(rows));
      });

      await test.step("longer problems than the run was trained on", async () => {
        const long = path("long.jsonl");
        const steps = ["--minimum-steps", "2", "--maximum-steps", "3"];
        const room = ["--set", "generator.max_response_length=30"];
        const make = ["bank", "make", "--run", path("run"), "--problems", "6", ...steps];
        const printed = await run(0, ...make, ...room, "--checkpoints", "0", "--output", long);
        // It knows problems of one word alone.
        assert.match(
          printed,
          /Left out, because all their solutions are right or all wrong: .*generator/,
        );
        const { solutions } = readBank(long);
        const words = solutions.map(({ problem }) => problem.split(" ").length);
        assert.deepEqual([...new Set(words)].sort(), [2, 3]);
        await run(0, "bank", "judge", "--bank", long, "--model", tinyPolicies.verifier);
      });

      await test.step("one message for what cannot be", async () => {
        const make = ["bank", "make", "--run", path("run"), "--output", path("none.jsonl")];
        assert.match(
          await run(2, ...make, "--checkpoints", "77"),
          /no checkpoint of step 77\. There are: .*keep_checkpoints/,
        );
        assert.match(
          await run(2, ...make, "--run", `${path("run")}/`),
          /--run names .*run twice/,
        );
        assert.match(
          await run(2, ...make, "--set", "memory_limit_gb=0.0001"),
          /takes up to .* of GPU memory, and .* may be taken \(memory_limit_gb\)/,
        );
        assert.match(await run(2, ...make, "--problems", "670"), /--problems is 670; lower it/);
        Deno.writeTextFileSync(path("empty.jsonl"), "");
        assert.match(
          await run(2, "bank", "judge", "--bank", path("empty.jsonl"), "--run", path("run")),
          /is empty/,
        );
        const chains = Deno.readTextFileSync(bank).replaceAll('"last-letter"', '"chains"');
        Deno.writeTextFileSync(path("chains.jsonl"), chains);
        assert.match(
          await run(2, "bank", "judge", "--bank", path("chains.jsonl"), "--run", path("run")),
          /is of chains, and .*run was trained on last-letter/,
        );
      });

      await test.step("problems of files: no step label is known, and none is told", async () => {
        // Of so many, about a tenth falls into the part that is held out.
        const problems = tinyData(240).split("\n").map((line) => JSON.parse(line));
        Deno.writeTextFileSync(
          path("problems.jsonl"),
          problems.map((row) => JSON.stringify(row)).join("\n"),
        );
        await train("files", {
          data: { train: [{ path: path("problems.jsonl"), columns: tinyColumns }] },
        });
        assert.match(
          await run(
            2,
            ...["bank", "make", "--run", path("run"), "--run", path("files")],
            ...["--output", path("mixed.jsonl")],
          ),
          /A bank is of one task: .*run is of last-letter, .*files of problems\. Make a bank of each/,
        );
        const options = ["--run", path("files"), "--checkpoints", "spread"];
        await run(0, "bank", "make", ...options, "--output", path("files.jsonl"));
        const { solutions, bySource } = readBank(path("files.jsonl"));
        assert.ok(!bySource.has("corruptions"));
        for (const { problem, steps } of solutions) {
          assert.equal(steps, null);
          assert.equal(splitOf(problem), "test");
        }
        const printed = await run(0, "bank", "judge", "--bank", path("files.jsonl"), ...options);
        assert.match(printed, /\| verifier +\| +AUROC \| verdicts \| consistent \|/);
        const csv = Deno.readTextFileSync(path("files-judged/rows.csv"));
        assert.doesNotMatch(csv, /step_|first_error/);
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

/** What tells a run's policy from the same one in a folder. */
const NAMES = { verifier: "", run: null, step: 0 };

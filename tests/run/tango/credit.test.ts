/** Forms of credit and sources of judgments in whole runs, recomputed from what the runs logged. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { lastLetterTask } from "../../../src/data/last_letter.ts";
import { parseCritique } from "../../../src/rl/text/parse_critique.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { tinyPolicies } from "../tiny_policies.ts";
import { creditedRun, writesSteps } from "./credited_run.ts";
import {
  critiqued,
  expectOwnStep,
  expectValueCredit,
  innerValues,
  mean,
  median,
  movingQuality,
} from "./expected_credit.ts";

const numberOf = (line: MetricsLine, name: string) => Number(line[name]);

Deno.test({
  name: "credit: runs follow the forms and sources that they are told",
  // The device outlives a test on purpose: it is opened once per process.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const gpu = await gpuOf("native");
    try {
      await test.step("own step, earned: alpha goes by the step's own critiques too", async () => {
        const alpha = { initial: 0.5, schedule: "earned" };
        const advantage = { process: "own-step", alpha };
        const steps = await creditedRun(
          gpu,
          join(folder, "earned"),
          advantage,
          tinyPolicies.verifier,
          {
            longest: 1,
          },
        );
        assert.equal(steps.length, 3);
        const qualities = movingQuality(steps);
        let moved = 0;
        steps.forEach(({ line, groups }, i) => {
          const q = numberOf(line, "advantage/judgment_quality");
          assert.ok(Math.abs(q - qualities[i]) < 1e-12, `${q}, not ${qualities[i]}`);
          const expected = 0.5 * Math.max(0, 2 * q - 1);
          assert.ok(Math.abs(numberOf(line, "generator/alpha") - expected) < 1e-12);
          for (const group of groups) {
            const right = group.filter(({ correct }) => correct);
            const counts = (right.length > 0 ? right : group).map((one) => one.steps.length);
            moved += expectOwnStep(group, group.map(critiqued), median(counts), expected);
          }
        });
        assert.ok(new Set(steps.map(({ line }) => line["generator/alpha"])).size > 1);
        assert.ok(moved > 0, "no judgment changed an advantage: nothing is tested");
      });
      await test.step("wrong alone: right solutions are not judged, and their steps CORRECT", async () => {
        const alpha = { initial: 0.5, schedule: "none" };
        const judgedBy = (judged: string, judgments: string) =>
          creditedRun(
            gpu,
            join(folder, `${judged}-${judgments}`),
            { process: "own-step", alpha, judged, judgments },
            tinyPolicies.verifier,
            { longest: 1 },
          );
        const steps = await judgedBy("wrong", "verifier");
        const [{ groups: all }] = await judgedBy("all", "verifier");
        const [{ groups: permuted }] = await judgedBy("wrong", "permuted");
        assert.equal(steps[0].line["advantage/judgment_quality"], undefined);
        let moved = 0, measured = 0;
        for (const { line, groups } of steps) {
          if (line["advantage/judgment_quality"] !== undefined) measured++;
          for (const group of groups) {
            const right = group.filter(({ correct }) => correct);
            assert.ok(right.every(({ critiques }) => critiques.length === 0));
            const told = group.map((one) => one.correct ? one.steps.map(() => 1) : critiqued(one));
            const counts = (right.length > 0 ? right : group).map((one) => one.steps.length);
            moved += expectOwnStep(group, told, median(counts), 0.5);
          }
        }
        assert.ok(moved > 0, "no judgment changed an advantage: nothing is tested");
        assert.ok(measured > 0, "verifier steps measure it");
        const wrong = all.flat().map((one) => one.correct ? { ...one, critiques: [] } : one);
        assert.deepEqual(
          steps[0].groups.flat().map(({ critiques }) => critiques),
          wrong.map(({ critiques }) => critiques),
          "what is not judged changes no critique of what is",
        );
        for (const { correct, steps, stepRewards } of permuted.flat()) {
          if (correct) assert.deepEqual(stepRewards, steps.map(() => 1));
        }
      });
      await test.step("judging temperature 0: both critiques of a solution are the likeliest one", async () => {
        const path = join(folder, "likeliest");
        const steps = await creditedRun(gpu, path, {}, tinyPolicies.verifier, {
          longest: 1,
          judgingTemperature: 0,
        });
        const pairs = steps.flatMap(({ groups }) => groups.flat()).map(({ critiques }) =>
          critiques.map(({ text }) => text)
        );
        assert.ok(pairs.length > 0 && pairs.every(([one, other]) => one === other));
      });
      await test.step("until error: a critique ends at the first flagged step, and credit is the same", async () => {
        const alpha = { initial: 0.5, schedule: "none" };
        const judgedBy = async (
          critiques: number,
          groundTruthWeight = 1,
          judgments = "verifier",
        ) => {
          const path = join(folder, `until-error-${critiques}-${groundTruthWeight}-${judgments}`);
          const advantage = { process: "until-error", alpha, judgments };
          const steps = await creditedRun(gpu, path, advantage, tinyPolicies.verifier, {
            ...writesSteps,
            critiques,
            groundTruthWeight,
            // The likeliest critique: two are one and the same, which is read whole.
            judgingTemperature: 0,
          });
          return steps[0];
        };
        const ended = await judgedBy(1);
        const whole = await judgedBy(2);
        let cut = 0;
        ended.groups.flat().forEach((one, i) => {
          const other = whole.groups.flat()[i];
          assert.equal(one.solution, other.solution);
          const [{ text }] = one.critiques, [{ text: full, stepJudgments }] = other.critiques;
          assert.ok(full.startsWith(text), `${full} does not go on from ${text}`);
          const error = stepJudgments.indexOf(false);
          // What a critique of another number of steps says counts only where it ends before.
          if (stepJudgments.length === one.steps.length || text === full) {
            assert.deepEqual(
              one.stepAdvantages?.slice(0, error + 1),
              other.stepAdvantages?.slice(0, error + 1),
            );
          }
          if (parseCritique(text).endsAtError) {
            if (text !== full) cut++;
            assert.deepEqual(one.critiques[0].stepJudgments, stepJudgments.slice(0, error + 1));
          }
        });
        assert.ok(cut > 0, "no critique was ended: nothing is tested");
        // Dealt out, critiques end there too, and flags stand at as many places.
        const placebo = await judgedBy(1, 1, "permuted");
        const of = ({ groups }: typeof ended) => {
          const samples = groups.flat();
          return {
            critiques: samples.map(({ critiques }) => critiques.map(({ text }) => text)),
            rewards: samples.map(({ stepRewards }) => JSON.stringify(stepRewards)),
          };
        };
        assert.deepEqual(of(placebo).critiques, of(ended).critiques);
        assert.deepEqual(of(placebo).rewards.toSorted(), of(ended).rewards.toSorted());
        const withoutVerdict = ended.groups.flat().map(({ critiques: [{ text }] }) =>
          parseCritique(text)
        ).filter(({ endsAtError, verdict }) =>
          endsAtError && verdict === null
        ).length;
        assert.equal(ended.line["generator/frac_ended_at_error"], withoutVerdict / 24);
        // To flag a step is to call the solution wrong; of critiques without a verdict nothing follows from steps.
        const disagrees = ended.groups.flat().map(({ critiques: [{ text }], correct }) => {
          const { verdict, endsAtError } = parseCritique(text);
          const said = verdict ?? (endsAtError ? false : null);
          return said !== null && said !== correct;
        });
        assert.equal(
          ended.line["generator/verdict_disagreement"],
          disagrees.filter((one) => one).length / 24,
        );
        assert.equal(ended.line["generator/verdict_is_conjunction"], undefined);
        // Where solutions earn by their verdicts, each critique goes on to its own.
        const paid = await judgedBy(1, 0.5);
        assert.equal(paid.line["generator/frac_ended_at_error"], 0);
        assert.deepEqual(
          paid.groups.flat().map(({ critiques: [{ text }] }) => text),
          whole.groups.flat().map(({ critiques: [{ text }] }) => text),
        );
      });
      await test.step("earned: α goes by who judges, whichever verifier is beside", async () => {
        const qualityOf = async (name: string, advantage: object, verifier: string | null) => {
          const [{ line }] = await creditedRun(gpu, join(folder, name), advantage, verifier);
          return line["advantage/judgment_quality"];
        };
        const alpha = { initial: 1, schedule: "earned" };
        const oracle = { process: "own-step", judgments: "oracle", alpha };
        const alone = await qualityOf("oracle alone", oracle, null);
        assert.equal(typeof alone, "number");
        const beside = { ...oracle, judged: "wrong" };
        assert.equal(await qualityOf("beside", beside, tinyPolicies.verifier), alone);
      });
      await test.step("oracle: true labels and numbers of steps, without a verifier", async () => {
        const advantage = {
          process: "own-step",
          judgments: "oracle",
          alpha: { initial: 0.5, schedule: "none" },
        };
        const steps = await creditedRun(gpu, join(folder, "oracle"), advantage, null);
        let moved = 0;
        for (const { line, groups } of steps) {
          assert.equal(line["generator/alpha"], 0.5);
          assert.equal(line["generator/verdict_unparsed"], undefined);
          assert.equal(
            line["generator/frac_with_step_rewards"],
            mean(
              groups.flat().map(({ steps }) => steps.length > 0 ? 1 : 0),
            ),
          );
          for (const group of groups) {
            // A step for each word.
            const words = group[0].problem.split(" ").length;
            const goldSteps = group[0].problem.split(" ").map((word) => `${word}:${word.at(-1)}`);
            const problem = { question: "", answer: "", goldSteps };
            const labels = group.map(({ steps }) =>
              lastLetterTask.labelSteps(problem, steps).map((label) => label ? 1 : -1)
            );
            assert.ok(group.every(({ critiques }) => critiques.length === 0));
            moved += expectOwnStep(group, labels, words, 0.5);
          }
        }
        assert.ok(moved > 0, "no label changed an advantage: nothing is tested");
      });
      await test.step("permuted: each step's rewards are the verifier's, of other solutions", async () => {
        const advantage = {
          process: "own-step",
          judgments: "permuted",
          alpha: { initial: 0.5, schedule: "none" },
        };
        const steps = await creditedRun(
          gpu,
          join(folder, "permuted"),
          advantage,
          tinyPolicies.verifier,
        );
        let elsewhere = 0;
        for (const { groups } of steps) {
          const own = groups.flat().map((sample) => JSON.stringify(critiqued(sample) ?? []));
          const dealt = groups.flat().map(({ stepRewards }) => JSON.stringify(stepRewards ?? []));
          assert.deepEqual(dealt.toSorted(), own.toSorted());
          elsewhere += own.filter((one, i) => one !== dealt[i]).length;
        }
        assert.ok(elsewhere > 0);
      });
      await test.step("prefix: changes of value, by which each step and the answer are credited", async () => {
        for (const process of ["own-step", "sum-to-go"]) {
          const alpha = { initial: 1, schedule: "none" };
          const path = join(folder, `prefix-${process}`);
          const advantage = { process, judgments: "prefix", alpha };
          const steps = await creditedRun(gpu, path, advantage, null, writesSteps);
          const timings = readJsonLines<MetricsLine>(RunFolder.open(path).timings);
          assert.ok(timings.every((line) => numberOf(line, "perf/continuation_seconds") > 0));
          let moved = 0;
          for (const { line, groups } of steps) {
            const inner = groups.flatMap((group) =>
              group.flatMap((one) => innerValues(group, one))
            );
            assert.ok(Math.abs(numberOf(line, "generator/prefix_value") - mean(inner)) < 1e-9);
            assert.ok(numberOf(line, "generator/continuation_tokens") >= 3 * inner.length);
            assert.equal(line["advantage/judgment_quality"], undefined);
            for (const group of groups) moved += expectValueCredit(group, process);
          }
          assert.ok(moved > 0, "no value changed within a solution: nothing is tested");
        }
      });
      await test.step("constant: the published form's bias on the number of steps alone", async () => {
        const advantage = { judgments: "constant", alpha: { initial: 0.5, schedule: "none" } };
        const steps = await creditedRun(gpu, join(folder, "constant"), advantage, null);
        for (const { steps: texts, stepRewards } of steps.flatMap(({ groups }) => groups.flat())) {
          assert.deepEqual(stepRewards, texts.map(() => 1 / texts.length));
        }
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

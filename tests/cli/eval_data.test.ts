/** `eval` on files of problems and of solutions to be judged, with policies that solve tiny problems. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { COMMANDS } from "../../src/cli/commands.ts";
import { splitOf } from "../../src/data/split.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { tinyColumns, tinyData } from "../run/tiny_data.ts";
import { tinyPolicies } from "../run/tiny_policies.ts";
import { runCaptured } from "./run_captured.ts";

/** Runs a command that must end with a code. */
async function run(code: number, ...args: string[]): Promise<string> {
  const result = await runCaptured(COMMANDS, args);
  assert.equal(result.code, code, `${args.join(" ")}\n${result.printed}`);
  return result.printed;
}

const json = async (...args: string[]) => JSON.parse(await run(0, "eval", ...args, "--json"));

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join("\n");

Deno.test({
  name: "eval: on files",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const path = (name: string) => join(folder, name);
    try {
      const { generator, verifier } = tinyPolicies;
      // Short, and with another prompt than the default: only the run's own configuration measures alike.
      Deno.writeTextFileSync(path("prompt.txt"), "<bos>{{ question }}?");
      // Of so many, about a tenth falls into each of the two parts that are set aside.
      const problems = tinyData(240).split("\n").map((line) => JSON.parse(line));
      Deno.writeTextFileSync(path("problems.jsonl"), lines(problems));
      Deno.writeTextFileSync(
        path("config.yaml"),
        stringify({
          data: { train: [{ path: path("problems.jsonl"), columns: tinyColumns }] },
          generator: {
            model: generator,
            max_response_length: 13,
            prompt_template: path("prompt.txt"),
            optimizer: { learning_rate: 0.003 },
          },
          verifier: { model: verifier, max_response_length: 20 },
          tuning: "default",
          rollout: { batch_size: 4, group_size: 4 },
          schedule: {
            generator_steps: 1,
            total_training_steps: 4,
            test_frequency: 1,
            keep_best: true,
          },
          evaluation: { problems: 10 },
        }),
      );
      const folderOf = RunFolder.at(path("run"));

      await test.step("a run's weights are measured as the run did, on what it set aside", async () => {
        await run(0, "train", "--config", path("config.yaml"), "--run", folderOf.path);
        const evaluations = readJsonLines<MetricsLine>(folderOf.metrics)
          .filter(({ phase }) => phase === "evaluation");
        const named = (line: MetricsLine, prefix: string) =>
          Object.fromEntries(
            Object.entries(line).filter(([name]) =>
              name.startsWith(prefix) && !name.endsWith("sampled_accuracy")
            ),
          );
        const last = evaluations.at(-1)!;
        const measured = await json("--model", folderOf.weights("generator"), "--problems", "10");
        assert.equal(measured.problems, 10);
        assert.equal(last["eval/problems"], 10);
        assert.deepEqual(measured.metrics, {
          "eval/problems": 10,
          ...named(last, "eval/generator/"),
        });
        const of = (metric: string) => evaluations.map((line) => Number(line[metric]));
        const validations = of("validation/generator/accuracy");
        const chosen = validations.indexOf(Math.max(...validations));
        const best = await json("--model", `${folderOf.best("generator")}/`, "--problems", "10");
        assert.equal(
          best.metrics["eval/generator/accuracy"],
          of("eval/generator/accuracy")[chosen],
        );
        // Few are some of those that the run set aside, not others.
        const some = await json("--model", folderOf.weights("generator"), "--problems", "4");
        assert.equal(some.problems, 4);
        const all = await json("--model", folderOf.weights("generator"));
        const { length } = problems.filter(({ question }) => splitOf(question) === "test");
        assert.ok(length > 10, "the part is no larger than what the run measured");
        const more = await json("--model", folderOf.weights("generator"), "--problems", "200");
        assert.deepEqual([all.problems, more.problems], [length, length]);
        assert.deepEqual(more.metrics, all.metrics);
      });

      await test.step("a checkpoint is measured as the run did after its step, and leaves nothing", async () => {
        const before = [...Deno.readDirSync(folderOf.path)].map(({ name }) => name).sort();
        const evaluations = readJsonLines<MetricsLine>(folderOf.metrics)
          .filter(({ phase }) => phase === "evaluation");
        const ten = ["--problems", "10"];
        for (const { step } of listCheckpoints(folderOf.checkpoints)) {
          const line = evaluations.find((one) => one.step === step)!;
          const at = ["--run", folderOf.path, "--checkpoint", String(step), ...ten];
          const measured = await json(...at);
          assert.equal(
            measured.metrics["eval/generator/accuracy"],
            line["eval/generator/accuracy"],
          );
          assert.equal(measured.model, `${folderOf.path}@${step}`);
        }
        // The generator of the same checkpoint writes the solutions.
        const judged = await json("--run", folderOf.path, "--policy", "verifier", ...ten);
        const [model, generator] = ["verifier", "generator"].map((name) =>
          folderOf.weights(name as "verifier")
        );
        const left = await json(
          ...["--model", model, "--generator", generator, "--policy", "verifier", ...ten],
        );
        assert.deepEqual(judged.metrics, left.metrics);
        assert.deepEqual(
          [...Deno.readDirSync(folderOf.path)].map(({ name }) => name).sort(),
          before,
        );
        await run(2, "eval", "--checkpoint", "1", ...model === "" ? [] : ["--model", model]);
        await run(2, "eval");
      });

      const model = ["--model", folderOf.weights("generator")];

      await test.step("a verifier chooses among samples, and they are rewritten where it flags a step", async () => {
        const sampled = ["--problems", "10", "--k", "4"];
        const judging = ["--critiques", "2", "--rewrites", "2"];
        const plain = await json(...model, ...sampled);
        const of = ["--verifier", folderOf.weights("verifier")];
        const chosen = await json(...model, ...of, ...sampled, ...judging);
        // What was sampled is the same.
        const { metrics } = chosen;
        for (const [name, value] of Object.entries(plain.metrics)) {
          assert.equal(metrics[name], value);
        }
        assert.equal(chosen.critiques, 2);
        assert.equal(chosen.rewrites, 2);
        const at = (name: string) => metrics[`eval/generator/${name}`];
        assert.ok(Math.abs(at("bon_at_1") - at("accuracy")) < 1e-12);
        for (const k of [2, 4]) {
          assert.ok(at(`bon_at_${k}`) <= at(`pass_at_${k}`) + 1e-12);
          assert.ok(at(`vote_at_${k}`) <= at(`pass_at_${k}`) + 1e-12);
        }
        const again = (name: string) => metrics[`eval/rewriting/${name}`];
        assert.equal(again("accuracy_before"), at("accuracy"));
        const change = again("righted") - again("spoilt");
        assert.ok(Math.abs(again("accuracy_after") - again("accuracy_before") - change) < 1e-12);
        assert.ok(again("rewritten") > 0, "no step is flagged: nothing is tested");
        assert.ok(again("generator_tokens") > 0 && again("verifier_tokens") > 0);
        const bought = (again("generator_tokens") + again("verifier_tokens")) / at("mean_length");
        assert.ok(Math.abs(again("samples_for_tokens") - bought) < 1e-9);
        // The run's own is the same one.
        const ofRun = ["--run", folderOf.path, "--verifier"];
        assert.deepEqual((await json(...ofRun, ...sampled, ...judging)).metrics, metrics);
        const told = await run(0, "eval", ...model, ...of, ...sampled);
        assert.match(told, /each judged by one greedy critique/);
        assert.match(told, /bon@4[^]*weighted vote@4/);
        assert.doesNotMatch(told, /rewriting/);
        // Of greedy solutions the rewriting alone is told.
        const greedy = await json(...model, ...of, "--rewrites", "1", "--problems", "10");
        assert.ok("eval/rewriting/accuracy_after" in greedy.metrics);
        assert.ok(!("eval/generator/bon_at_1" in greedy.metrics));

        assert.match(await run(2, "eval", ...model, "--verifier"), /without a folder/);
        assert.match(await run(2, "eval", ...model, ...of), /nothing to choose from/);
        assert.match(await run(2, "eval", ...model, "--critiques", "2"), /takes a verifier/);
        assert.match(await run(2, "eval", ...model, "--rewrites", "2"), /takes a verifier/);
        const both = ["--policy", "verifier", "--generator", folderOf.weights("generator"), ...of];
        assert.match(
          await run(2, "eval", ...model, ...both),
          /chooses among a generator's samples/,
        );
      });

      await test.step("each of several sources is measured by itself", async () => {
        const sound = problems.slice(0, 6).map((row) => ({ ...row, source: "sound" }));
        const spoilt = problems.slice(6, 12).map((row) => ({
          ...row,
          answer: "?",
          source: "spoilt",
        }));
        Deno.writeTextFileSync(path("sound.jsonl"), lines(sound));
        Deno.writeTextFileSync(path("both.jsonl"), lines([...sound, ...spoilt]));
        const alone = await json(...model, "--data", path("sound.jsonl"));
        const both = await json(...model, "--data", path("both.jsonl"));
        const of = (name: string) => both.metrics[`eval/generator/by_source/${name}`];
        const accuracy = alone.metrics["eval/generator/accuracy"];
        assert.ok(accuracy > 0, "the policy solves nothing: nothing is tested");
        assert.equal(of("sound/accuracy"), accuracy);
        assert.equal(of("spoilt/accuracy"), 0);
        assert.equal(both.metrics["eval/generator/accuracy"], accuracy / 2);
        assert.equal(of("sound/pass_at_1"), undefined, "one greedy answer needs no pass@k");
        assert.ok(!Object.keys(alone.metrics).some((name) => name.includes("by_source")));
      });

      await test.step("columns of any names", async () => {
        const sound = problems.slice(0, 6)
          .map(({ question, answer }) => ({ task: question, result: answer, kind: "text" }));
        Deno.writeTextFileSync(path("renamed.jsonl"), lines(sound));
        const renamed = ["--data", path("renamed.jsonl"), "--columns"];
        const columns = ["question=task", "answer=result"];
        const found = await json(...model, ...renamed, ...columns, "comparison=text");
        const accuracy = (metrics: Record<string, number>) => metrics["eval/generator/accuracy"];
        const alone = await json(...model, "--data", path("sound.jsonl"));
        assert.equal(accuracy(found.metrics), accuracy(alone.metrics));
        const refused = (...wrong: string[]) => run(2, "eval", ...model, ...renamed, ...wrong);
        assert.match(await refused("anser=result"), /anser=result: expected key=column with one/);
        assert.match(await refused("answer=result"), /--columns: question: /);
        assert.match(await refused(...columns, "--format", "gsm8k"), /cannot be used with/);
      });

      await test.step("several samples of each problem, without a format named", async () => {
        const sampled = ["--data", path("both.jsonl"), "--k", "4", "--temperature", "0.7"];
        const { metrics, ...facts } = await json(...model, ...sampled);
        assert.deepEqual([facts.problems, facts.k, facts.on], [12, 4, path("both.jsonl")]);
        for (const measure of ["accuracy", "pass_at_2", "pass_at_4", "maj_at_4"]) {
          const of = (name: string) => metrics[`eval/generator/by_source/${name}/${measure}`];
          const mean = (of("sound") + of("spoilt")) / 2;
          assert.ok(Math.abs(metrics[`eval/generator/${measure}`] - mean) < 1e-12, measure);
          assert.equal(of("spoilt"), 0);
        }
        const table = await run(0, "eval", ...model, ...sampled);
        const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
        const rows = table.split("\n").map((row) => row.split("|").map((cell) => cell.trim()));
        for (const [label, measure] of [["mean@4", "accuracy"], ["pass@4", "pass_at_4"]]) {
          const first = rows.findIndex((cells) => cells[1] === label);
          assert.deepEqual(rows.slice(first, first + 3).map((cells) => cells.slice(1, 3)), [
            [label, percent(metrics[`eval/generator/${measure}`])],
            ["of sound", percent(metrics[`eval/generator/by_source/sound/${measure}`])],
            ["of spoilt", percent(0)],
          ]);
        }
      });

      await test.step("problems that are too long are passed over and counted", async () => {
        // The models have 512 positions, and a character is a token.
        const long = { ...problems[0], question: "x".repeat(600) };
        Deno.writeTextFileSync(path("short.jsonl"), lines(problems.slice(0, 6)));
        Deno.writeTextFileSync(path("long.jsonl"), lines([long, ...problems.slice(0, 6)]));
        const short = await json(...model, "--data", path("short.jsonl"));
        const mixed = await json(...model, "--data", path("long.jsonl"));
        assert.deepEqual([short.problems, short.passed_over], [6, 0]);
        assert.deepEqual([mixed.problems, mixed.passed_over], [6, 1]);
        assert.deepEqual(mixed.metrics, short.metrics);
        const table = await run(0, "eval", ...model, "--data", path("long.jsonl"));
        assert.match(table, /^1 more were passed over/m);
        Deno.writeTextFileSync(path("all-long.jsonl"), lines([long]));
        assert.match(
          await run(2, "eval", ...model, "--data", path("all-long.jsonl")),
          /all-long\.jsonl: none of the 1 problems has a prompt that leaves room/,
        );
      });

      await test.step("solutions to be judged measure a verifier alone", async () => {
        const judged = problems.slice(0, 96).map(({ question, steps }, i) => ({
          id: `${i < 48 ? "first" : "second"}-${i}`,
          problem: question,
          // A wrong letter, which a verifier of one-letter answers can find.
          steps: i % 2 === 0 ? steps : [`${question}:${question.endsWith("q") ? "j" : "q"}`],
          label: i % 2 === 0 ? -1 : 0,
        }));
        Deno.writeTextFileSync(path("judged.jsonl"), lines(judged));
        const data = ["--data", path("judged.jsonl"), "--format", "processbench"];
        const judge = ["--policy", "verifier", "--model", verifier];
        const { metrics, problems: count } = await json(...judge, ...data);
        assert.equal(count, 96);
        const f1 = ["first", "second"].map((name) => {
          const of = (measure: string) => metrics[`eval/process/by_source/${name}/${measure}`];
          const [wrong, right] = [of("erroneous_accuracy"), of("correct_accuracy")];
          const expected = wrong * right === 0 ? 0 : 2 / (1 / wrong + 1 / right);
          assert.ok(Math.abs(of("f1_score") - expected) < 1e-12);
          return expected;
        });
        assert.ok(f1[0] > 0, "the verifier finds nothing: nothing is tested");
        assert.ok(Math.abs(metrics["eval/process/f1_score"] - (f1[0] + f1[1]) / 2) < 1e-12);
        assert.ok(metrics["eval/process/unjudged"] < 1);
        assert.deepEqual(
          await json(...judge, ...data, "--problems", "96"),
          await json(...judge, ...data),
        );
        const long = { ...judged[0], problem: "x".repeat(600) };
        Deno.writeTextFileSync(path("long-judged.jsonl"), lines([...judged, long]));
        const mixed = ["--data", path("long-judged.jsonl"), "--format", "processbench"];
        const { metrics: same, passed_over } = await json(...judge, ...mixed);
        assert.deepEqual([same, passed_over], [metrics, 1]);
        const some = await json(...judge, ...data, "--problems", "2");
        assert.equal(some.problems, 2);
        const table = await run(0, "eval", ...judge, ...data);
        assert.match(table, /96 written solutions, one greedy critique each/);
        assert.match(table, /\| first +\|[^]*\| second +\|[^]*\| mean +\|/);
      });

      await test.step("what does not go together is said, with exit code 2", async () => {
        const data = ["--data", path("judged.jsonl"), "--format", "processbench"];
        const judge = ["--policy", "verifier", "--model", verifier];
        const refused: readonly (readonly [string[], RegExp])[] = [
          [
            [...model, "--format", "gsm8k"],
            /--format says how files are read: name some with --data/,
          ],
          [
            [...model, ...data],
            /solutions to be judged: they measure a verifier.*--policy verifier/,
          ],
          [[...judge, ...data, "--generator", generator], /--generator is not used here/],
          [[...judge, ...data, "--k", "2"], /--k is not used here/],
          [[...model, "--data", path("none.jsonl")], /none\.jsonl/],
          [[...model, "--data", path("both.jsonl"), "--task", "arithmetic"], /cannot be used with/],
        ];
        for (const [options, message] of refused) {
          const printed = await run(2, "eval", ...options);
          assert.match(printed, message);
          assert.doesNotMatch(printed, /\n +at /);
        }
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

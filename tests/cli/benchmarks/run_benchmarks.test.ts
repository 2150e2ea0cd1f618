/** `benchmarks run` on two stand-ins that tiny policies solve and judge a part of: whole, killed, in part. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { tinyData } from "../../run/tiny_data.ts";
import { tinyPolicies } from "../../run/tiny_policies.ts";
import { runTo as run } from "../run_captured.ts";

interface Results {
  readonly benchmarks: readonly {
    readonly name: string;
    readonly problems: number;
    readonly tooLong: number;
    readonly greedy: { readonly accuracy: { readonly value: number } };
    readonly sampled: { readonly accuracy: { readonly value: number } };
    readonly critiques: { readonly f1: { readonly value: number } };
  }[];
  readonly averages: Readonly<
    Record<string, { readonly greedy: { readonly value: number } } | null>
  >;
}

const ROWS = 20;
const LOGS = ["letters.greedy.jsonl", "letters.sampled.jsonl", "judged.critiques.jsonl"];

Deno.test({
  name: "benchmarks run: whole, killed and gone on with, in part",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const path = (...names: string[]) => join(folder, ...names);
    const read = (...names: string[]) => Deno.readTextFileSync(path(...names));
    const { generator, verifier } = tinyPolicies;
    const rows = tinyData(ROWS).split("\n").map((line) => JSON.parse(line));
    // The generator solves them all: every fifth is said to have another answer; the third has no room in 512 positions.
    const letters = rows.map(({ question, answer, solution }, i) => ({
      problem: i === 2 ? "x".repeat(600) : question,
      answer: i % 5 === 4 ? `${answer}${answer}` : answer,
      ...{ solution, subject: "letters" },
    }));
    const judged = rows.map(({ question, steps }, i) => ({
      ...{ id: `judged-${i}`, problem: question, label: i % 2 === 0 ? -1 : 0 },
      steps: i % 2 === 0 ? steps : [`${question}:${question.endsWith("q") ? "j" : "q"}`],
    }));
    const write = (name: string, some: readonly object[]) =>
      Deno.writeTextFileSync(
        path("data/own/tiny", name),
        some.map((row) => JSON.stringify(row)).join("\n"),
      );
    Deno.mkdirSync(path("data/own/tiny"), { recursive: true });
    write("letters.jsonl", letters);
    write("judged.jsonl", judged);
    const suite = (changes: object = {}) => ({
      folder: path("data"),
      benchmarks: [
        { name: "letters", group: "mathematics", files: ["letters.jsonl"], format: "math500" },
        { name: "judged", group: "process", files: ["judged.jsonl"], format: "processbench" },
      ].map((one) => ({ ...one, repository: "own/tiny", problems: ROWS, ...changes })),
      published: [{ columns: ["paper"], figures: { letters: [12.5], mathematics: [34.5] } }],
    });
    Deno.writeTextFileSync(path("suite.yaml"), stringify(suite()));
    const asked = [
      ...[
        "benchmarks",
        "run",
        "--suite",
        path("suite.yaml"),
        "--config",
        "configs/last-letter.yaml",
      ],
      ...["--set", "generator.max_response_length=16", "--set", "verifier.max_response_length=24"],
      ...["--model", generator],
    ];
    const both = [...asked, "--verifier", verifier, "--k", "3"];
    const results = (name: string): Results => JSON.parse(read(name, "results.json"));
    try {
      await test.step("the numbers are eval's; what does not fit is wrong, and said", async () => {
        const printed = await run(0, ...both, "--output", path("whole"));
        const [solved, process] = results("whole").benchmarks;
        assert.deepEqual([solved.problems, solved.tooLong, process.problems], [ROWS, 1, ROWS]);
        assert.match(printed, /^Prompts that leave no room for an answer .*: letters 1\.$/m);
        const evaluated = async (...args: string[]) =>
          JSON.parse(await run(0, "eval", ...asked.slice(4, -2), ...args, "--json")).metrics;
        const files = (name: string, format: string) => [
          ...["--data", path("data/own/tiny", name), "--format", format],
        ];
        const alike = await evaluated("--model", generator, ...files("letters.jsonl", "math500"));
        const right = alike["eval/generator/accuracy"] * (ROWS - 1);
        assert.ok(right > 1 && right < ROWS - 1, `${right} right: nothing is tested`);
        assert.ok(Math.abs(solved.greedy.accuracy.value - right / ROWS) < 1e-12);
        assert.ok(solved.sampled.accuracy.value > 0);
        const judge = ["--policy", "verifier", "--model", verifier];
        const f1 = await evaluated(...judge, ...files("judged.jsonl", "processbench"));
        assert.ok(process.critiques.f1.value > 0, "the verifier finds nothing: nothing is tested");
        assert.equal(process.critiques.f1.value, f1["eval/process/f1_score"]);
        const share = (100 * right / ROWS).toFixed(1);
        assert.match(
          printed,
          new RegExp(`^\\| letters +\\| +20 \\| +${share} ± .* \\| +12.5 \\|$`, "m"),
        );
        assert.match(
          printed,
          new RegExp(`^\\| mathematics, average +\\|.* ${share} ± .* 34.5 \\|$`, "m"),
        );
        assert.ok(
          read("whole", "results.md").startsWith(printed.slice(printed.indexOf(generator), 200)),
        );
      });

      await test.step("a part has no average; killed in a line, it goes on to the whole: the same bytes", async () => {
        const some = await run(0, ...both, "--output", path("part"), "--problems", "7");
        assert.match(some, /^Parts, the first problems alone, .*: letters, judged\.$/m);
        assert.deepEqual(results("part").averages.mathematics, null);
        for (const [i, log] of LOGS.entries()) {
          const part = read("part", log);
          assert.equal(part.split("\n").length, 1 + 7 + 1);
          assert.ok(read("whole", log).startsWith(part), "a part is the beginning of the whole");
          // Killed before, at and after that part's end, each time in a line.
          const length = Math.floor((0.6 + 0.4 * i) * part.length) + 3;
          Deno.writeTextFileSync(path("part", log), read("whole", log).slice(0, length));
        }
        await run(0, ...both, "--output", path("part"));
        for (const name of [...LOGS, "results.json", "results.md"]) {
          assert.equal(read("part", name), read("whole", name), name);
        }
        // Of what is there a smaller part is measured again, and nothing is answered.
        const again = await run(0, ...asked, "--output", path("part"), "--problems", "7");
        assert.doesNotMatch(again, / answered$/m);
        assert.equal(results("part").benchmarks[0].problems, 7);
        assert.equal(read("part", LOGS[0]), read("whole", LOGS[0]));
      });

      await test.step("what was asked otherwise is not mixed; a greedy answer has no seed", async () => {
        const whole = ["--output", path("whole")];
        const otherwise = /letters\.sampled\.jsonl holds answers that were asked for otherwise/;
        for (const change of [["--seed", "5"], ["--set", "rollout.temperature=0.5"]]) {
          assert.match(await run(2, ...both, ...whole, ...change), otherwise);
        }
        assert.match(await run(2, ...asked, ...whole, "--k", "2"), otherwise);
        const printed = await run(0, ...asked, ...whole, "--seed", "5");
        assert.doesNotMatch(printed, / answered$/m);
        const other = ["--set", "generator.max_response_length=17"];
        assert.match(
          await run(2, ...asked, ...whole, ...other),
          /letters\.greedy\.jsonl holds answers/,
        );
        // A log that lost a line would give every later problem the answers of another one.
        const lines = read("whole", LOGS[0]).split("\n");
        Deno.mkdirSync(path("gap"));
        Deno.writeTextFileSync(path("gap", LOGS[0]), lines.toSpliced(4, 1).join("\n"));
        const gap = await run(2, ...asked, "--output", path("gap"));
        assert.match(gap, /found the answers to problem 5 where those to problem 4 were expected/);
      });

      await test.step("what is missing, too many, or not for this model is said", async () => {
        const refused = async (message: RegExp, ...args: string[]) => {
          const printed = await run(2, ...args);
          assert.match(printed, message);
          assert.doesNotMatch(printed, /\n +at /);
        };
        const none = ["--output", path("none")];
        await refused(/None of the 20 prompts .*Set a lower generator\.max_response_length/, ...[
          ...asked.filter((word) => !/max_response_length|^--set$/.test(word)),
          ...["--set", "generator.max_response_length=511", ...none],
        ]);
        await refused(/letters measures a generator: name one with --model/, ...[
          ...asked.slice(0, 4),
          ...["--verifier", verifier, "--only", "mathematics", ...none],
        ]);
        await refused(/--model: none of the chosen/, ...asked, "--only", "judged", ...none);
        await refused(
          /--only letter: expected one of letters, judged, or a group/,
          ...asked,
          "--only",
          "letter",
          ...none,
        );
        await refused(/there is no nowhere/, ...asked.slice(0, -1), "nowhere", ...none);

        Deno.writeTextFileSync(path("suite.yaml"), stringify(suite({ problems: 500 })));
        const printed = await run(0, ...asked, "--output", path("whole"));
        assert.match(
          printed,
          /^Not the number of .*: letters \(20 in the files, 500 expected\)\.$/m,
        );
        assert.match(printed, /No average of mathematics/);

        Deno.removeSync(path("data/own/tiny/letters.jsonl"));
        await refused(
          /^letters: the files are not all in .*data\. Fetch them with .*benchmarks pull --suite .* --only letters/,
          ...asked,
          ...none,
        );
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { UserError } from "../../../src/base/user_error.ts";
import {
  type BankSolution,
  readBank,
  requireNoBank,
  writeBank,
} from "../../../src/run/bank/bank_file.ts";
import { type JudgedSource, JudgmentsFile } from "../../../src/run/bank/judgments_file.ts";
import { balanced } from "../../../src/run/bank/make_bank.ts";

const solution = (problem: string, correct: boolean, text = problem): BankSolution => ({
  source: "s",
  writer: { kind: "task", mistake: null },
  task: "last-letter",
  problem,
  reference: "r",
  solution: text,
  correct,
  steps: [correct],
});

function inFolder(body: (path: (name: string) => string) => void): void {
  const folder = Deno.makeTempDirSync();
  try {
    body((name) => join(folder, name));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const refuses = (body: () => unknown, message: RegExp) =>
  assert.throws(body, (error) => error instanceof UserError && message.test(error.message));

Deno.test("bank file: is read as it was written, and written once", () => {
  inFolder((path) => {
    const written = [solution('a\n"b"', true), {
      ...solution("c", false),
      source: "t",
      steps: null,
    }];
    requireNoBank(path("bank.jsonl"));
    writeBank(path("bank.jsonl"), written);
    const bank = readBank(path("bank.jsonl"));
    assert.deepEqual(bank.solutions, written);
    assert.deepEqual([...bank.bySource], [["s", [0]], ["t", [1]]]);
    refuses(() => requireNoBank(path("bank.jsonl")), /already.*another --output/);
  });
});

Deno.test("bank file: one message for what is missing, empty, damaged or mixed", () => {
  inFolder((path) => {
    const file = path("bank.jsonl");
    refuses(() => readBank(file), /bank\.jsonl cannot be read: .*bank make/);
    Deno.writeTextFileSync(file, "");
    refuses(() => readBank(file), /bank\.jsonl is empty/);
    writeBank(file, [solution("a", true), solution("b", false)]);
    const whole = Deno.readTextFileSync(file);
    Deno.writeTextFileSync(file, whole.slice(0, -20));
    refuses(() => readBank(file), /bank\.jsonl:2 is damaged: a JSON object was expected, found/);
    Deno.writeTextFileSync(file, whole.replace('"correct":false', '"correct":0'));
    refuses(() => readBank(file), /bank\.jsonl:2 is damaged: correct: .*boolean/);
    Deno.writeTextFileSync(file, `${whole}\n`);
    refuses(() => readBank(file), /bank\.jsonl:3 is damaged/);
    writeBank(file, [solution("a", true), { ...solution("b", false), task: "chains" }]);
    refuses(() => readBank(file), /mixes tasks: line 1 is of last-letter, line 2 of chains/);
  });
});

Deno.test("bank: as many right as wrong, none twice, the first ones", () => {
  const lines = [
    ...["a", "b", "b", "c", "d", "e"].map((problem) => solution(problem, true)),
    ...["a", "b", "c"].map((problem) => solution(problem, false, `${problem}?`)),
  ];
  const names = (most: number) =>
    balanced("s", lines, most, 0).solutions.map(({ solution }) => solution);
  assert.deepEqual(names(100), ["a", "b", "c", "a?", "b?", "c?"]);
  assert.deepEqual(names(4), ["a", "b", "a?", "b?"]);
  const { different, right } = balanced("s", lines, 4, 0);
  assert.deepEqual([different, right], [8, 5]);
  assert.deepEqual(balanced("s", lines.slice(0, 3), 100, 0).solutions, []);
});

const settings = {
  samples: 1,
  seed: 0,
  max_response_length: 9,
  maximum_prompt_tokens: null,
  prompt_template: "p",
  chat: false,
  system_prompt: null,
  precision: "f32",
  cache_dtype: "f32",
  frozen_dtype: "auto",
};

const judged = (verifier: string, source: string, weights = "w"): JudgedSource => ({
  ...{ step: 1, verifier, run: null, weights, bank: "b", source, settings, cut: 0 },
  critiques: [[{ verdict: true, probability: 0.5, steps: [true], doubts: [0.1] }]],
});

Deno.test("judgments: found again only as they were asked for; damaged ones are set aside", () => {
  inFolder((path) => {
    const file = path("judgments.jsonl");
    const open = <Result>(body: (judgments: JudgmentsFile) => Result) => {
      using judgments = new JudgmentsFile(file);
      return body(judgments);
    };
    open((judgments) => {
      for (const source of ["s", "t"]) judgments.add(judged("v", source));
    });
    Deno.writeTextFileSync(file, '{"step":1,"verifier":"cut sho', { append: true });
    open((judgments) => {
      assert.ok(judgments.has(judged("v", "s")) && judgments.has(judged("v", "t")));
      const others = [
        judged("v", "s", "other weights"),
        { ...judged("v", "s"), bank: "another" },
        { ...judged("v", "s"), settings: { ...settings, max_response_length: 10 } },
      ];
      for (const other of others) assert.ok(!judgments.has(other));
      // Newer weights of the same name take the place of the older ones, unless these are asked for; never in part.
      judgments.add(others[0]);
      const namesOf = (asked: readonly JudgedSource[]) =>
        judgments.of("b", settings, asked).map(({ source, weights }) => `${source} ${weights}`);
      assert.deepEqual(namesOf([]), ["s other weights"]);
      assert.deepEqual(namesOf([judged("v", "t"), judged("v", "s")]), ["s w", "t w"]);
      assert.deepEqual(judgments.of("b", { samples: 2, seed: 0 }, []), []);
    });
    const lines = Deno.readTextFileSync(file).split("\n");
    Deno.writeTextFileSync(file, ["garbage", ...lines.slice(1)].join("\n"));
    open((judgments) => {
      assert.match(judgments.damage ?? "", /1 damaged line \(1\) was set aside/);
      assert.ok(!judgments.has(judged("v", "s")) && judgments.has(judged("v", "t")));
    });
    const { critiques: [[{ doubts: _, ...hard }]], ...rest } = judged("v", "s");
    Deno.writeTextFileSync(file, `${JSON.stringify({ ...rest, critiques: [[hard]] })}\n`);
    // Lines of earlier versions do not say how sure a judgment was.
    open((judgments) => assert.ok(!judgments.has(judged("v", "s"))));
    Deno.writeTextFileSync(file, `${JSON.stringify({ ...judged("v", "s"), critiques: 3 })}\n`);
    refuses(() => open(() => {}), /judgments\.jsonl:1 is damaged: critiques/);
  });
});

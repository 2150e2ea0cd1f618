/** What shipped configurations train on, choose weights by, and report: no problem is in two of them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Split } from "../../src/data/split.ts";
import { normalized } from "../../src/data/files/record_filter.ts";
import { loadSftConfig, loadTangoConfig } from "../../src/run/config/load_config.ts";
import { loadDataSet } from "../../src/run/problems/data_set.ts";
import { TaskProblems } from "../../src/run/problems/task_problems.ts";

const PARTS: readonly Split[] = ["train", "validation", "test"];
type Parts = Readonly<Record<Split, ReadonlySet<string>>>;

const configs = [...Deno.readDirSync("configs")].map(({ name }) => name)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => {
    const file = join("configs", name);
    if (name.endsWith("-sft.yaml")) {
      const { task, data, seed, evaluation, schedule, batch_size } = loadSftConfig(file);
      const steps = schedule.total_training_steps;
      return { file, task, data, seed, evaluation, steps, batch: batch_size };
    }
    const { task, data, seed, evaluation, schedule, rollout } = loadTangoConfig(file);
    const steps = schedule.total_training_steps;
    return { file, task, data, seed, evaluation, steps, batch: rollout.batch_size };
  });

const byPart = <Value>(of: (part: Split) => Value): Record<Split, Value> => ({
  train: of("train"),
  validation: of("validation"),
  test: of("test"),
});

/** No part of any configuration meets another part of any. */
function assertDisjoint(all: readonly { readonly file: string; readonly parts: Parts }[]): void {
  for (const one of all) {
    for (const other of all) {
      for (const part of PARTS) {
        assert.ok(one.parts[part].size > 0, `${one.file} ${part}`);
        for (const another of PARTS) {
          if (part === another) continue;
          const shared = one.parts[part].intersection(other.parts[another]);
          assert.deepEqual([...shared], [], `${part} of ${one.file}, ${another} of ${other.file}`);
        }
      }
    }
  }
}

/** Every problem that the configuration's run draws. */
function partsOfTask({ task, seed, evaluation, steps, batch }: typeof configs[number]): Parts {
  const { problems: count, seed: evaluationSeed } = evaluation;
  assert.ok(count !== null);
  const problems = new TaskProblems(task, seed, { problems: count, seed: evaluationSeed });
  const train = new Set<string>();
  for (let step = 1; step <= steps; step++) {
    for (const { question } of problems.draw(step, batch)) train.add(question);
  }
  const questions = (part: "validation" | "test") =>
    new Set(problems.heldOut(part).map(({ question }) => question));
  return { train, validation: questions("validation"), test: questions("test") };
}

for (const name of ["last-letter", "arithmetic", "chains"]) {
  Deno.test(`parts: fine-tuning and training on ${name} share no problem across parts`, () => {
    const onTask = configs.filter(({ task, data }) => data === null && task.name === name);
    assert.ok(onTask.length >= 3);
    const all = onTask.map((config) => ({ file: config.file, parts: partsOfTask(config) }));
    assertDisjoint(all);
    if (name !== "arithmetic") return;
    // More than the problems: how they begin decides, so that no one is another's beginning either.
    assertDisjoint(all.map(({ file, parts }) => {
      const beginnings = (part: Split) =>
        new Set([...parts[part]].map((question) => question.slice(0, "7+5-3".length)));
      return { file, parts: byPart(beginnings) };
    }));
  });
}

Deno.test("parts: a tiny task redraws what is held out, and refuses when nothing else is left", () => {
  const oneWord = {
    name: "last-letter",
    minimum_steps: 1,
    maximum_steps: 1,
    minimum_letters: 2,
    maximum_letters: 2,
  } as const;
  const open = (count: number) => new TaskProblems(oneWord, 5, { problems: count, seed: 6 });
  const problems = open(150);
  // Of the 676 words, 150 draws take about 134 for each part.
  const held = (["test", "validation"] as const).map((part) =>
    new Set(problems.heldOut(part).map(({ question }) => question))
  );
  const drawn = new Set(problems.draw(1, 2000).map(({ question }) => question));
  assert.ok(held[0].isDisjointFrom(held[1]));
  assert.ok(held.every((part) => part.isDisjointFrom(drawn)));
  // What is not drawn again stays what it is without anything held out.
  const free = open(1).draw(1, 2000), bound = problems.draw(1, 2000);
  for (const [i, { question }] of free.entries()) {
    if (held.every((part) => !part.has(question))) assert.equal(bound[i].question, question);
  }
  assert.throws(() => open(20_000).draw(1, 1), /none was left for the \w+ part; allow more steps/);
});

const wordProblems = configs.filter(({ file }) => file.includes("word-problems"));

/** People and things of the word problems, which the test knows by itself. */
const wordsOf = {
  train: "Ana Ben Chen Dora Emil Fatima Goran Hana Ivo Jun " +
    "apples books pens coins stamps marbles shells cards",
  validation: "Kofi Lena Mara plums spoons candles",
  test: "Nils Olga Pia Quentin lemons buttons ribbons bottles",
};

const anyOf = (words: string) => `\\b(?:${words.replaceAll(" ", "|")})\\b`;
const openings = new RegExp(`${anyOf(Object.values(wordsOf).join(" "))}|\\d+`, "g");
/** A text's wording: numbers, people and things left open. */
const templateOf = (text: string) => text.replace(openings, "_");

Deno.test("parts: the word problems' files share no question, wording, person or thing", async () => {
  assert.equal(wordProblems.length, 3);
  const all = await Promise.all(wordProblems.map(async ({ file, data }) => {
    assert.ok(data);
    const set = await loadDataSet(data, { requireAnswer: true, validation: true });
    const questions = (part: Split) =>
      new Set(set[part].map(({ question }) => normalized(question)));
    return { file, parts: byPart(questions) };
  }));
  assertDisjoint(all);
  const [{ parts }] = all;
  const templates = byPart((part) => new Set([...parts[part]].map(templateOf)));
  assertDisjoint([{ file: "wordings", parts: templates }]);
  assert.deepEqual(PARTS.map((part) => templates[part].size), [40, 12, 12]);
  for (const part of PARTS) {
    const others = PARTS.filter((other) => other !== part).map((other) => wordsOf[other]).join(" ");
    const foreign = [...parts[part]].filter((question) => new RegExp(anyOf(others)).test(question));
    assert.deepEqual(foreign, [], part);
  }
});

Deno.test("parts: the word problems' solutions are right, and worded as training words them", async () => {
  const { data } = wordProblems[0];
  assert.ok(data);
  const set = await loadDataSet(data, { requireSteps: true, validation: true });
  const results: Record<string, (left: number, right: number) => number> = {
    "+": (left, right) => left + right,
    "-": (left, right) => left - right,
    "*": (left, right) => left * right,
    "/": (left, right) => left / right,
  };
  const wordings = byPart(() => new Set<string>());
  for (const part of PARTS) {
    for (const { question, solutionSteps, answer } of set[part]) {
      // A count of one would need a singular.
      assert.ok(question.match(/\d+/g)?.every((number) => Number(number) >= 2), question);
      const steps = solutionSteps ?? [];
      assert.equal(steps.length, 2, question);
      for (const step of steps) {
        const [, left, operator, right, result] = step.match(/(\d+) (.) (\d+) = (\d+)\.$/) ?? [];
        assert.equal(results[operator](Number(left), Number(right)), Number(result), step);
        wordings[part].add(templateOf(step));
      }
      assert.ok(steps[1].endsWith(`= ${answer}.`), question);
    }
  }
  assert.ok(wordings.validation.isSubsetOf(wordings.train));
  assert.ok(wordings.test.isSubsetOf(wordings.train));
});

Deno.test("parts: fine-tuning and training on published sets hold out the same files", () => {
  const onFiles = configs.filter(({ data, file }) => data !== null && file.endsWith("-sft.yaml"));
  for (const { file, data } of onFiles) {
    const training = configs.find((other) => other.file === file.replace("-sft", ""));
    // Of the published run's fine-tuning the data are not published: its solutions are the user's.
    if (!training?.data || file.includes("tango-")) continue;
    assert.deepEqual(data?.held_out, training.data.held_out, file);
    assert.deepEqual(data?.train, training.data.train, file);
    assert.ok(training.data.held_out.length > 0);
  }
});

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

for (const name of ["last-letter", "arithmetic"]) {
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
      return {
        file,
        parts: {
          train: beginnings("train"),
          validation: beginnings("validation"),
          test: beginnings("test"),
        },
      };
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

Deno.test("parts: the word problems' files share no question, wording, person or thing", async () => {
  assert.equal(wordProblems.length, 3);
  const all = await Promise.all(wordProblems.map(async ({ file, data }) => {
    assert.ok(data);
    const set = await loadDataSet(data, { requireAnswer: true, validation: true });
    const questions = (part: Split) =>
      new Set(set[part].map(({ question }) => normalized(question)));
    const parts = {
      train: questions("train"),
      validation: questions("validation"),
      test: questions("test"),
    };
    return { file, parts };
  }));
  assertDisjoint(all);
  const [{ parts }] = all;
  const patterns = (part: Split) => new Set([...parts[part]].map(patternOf));
  const wordings = {
    train: patterns("train"),
    validation: patterns("validation"),
    test: patterns("test"),
  };
  assertDisjoint([{ file: "wordings", parts: wordings }]);
  assert.deepEqual(PARTS.map((part) => wordings[part].size), [8, 4, 4]);
});

/** A question's wording: numbers, people and things left open, which the test knows by itself. */
function patternOf(question: string): string {
  const words = "apples books pens coins stamps marbles shells cards plums spoons candles lemons " +
    "buttons ribbons bottles Ana Ben Chen Dora Emil Fatima Goran Hana Ivo Jun Kofi Lena Mara Nils " +
    "Olga Pia Quentin";
  const open = new RegExp(`\\b(?:${words.replaceAll(" ", "|")})\\b|\\d+`, "g");
  return question.replace(open, "_");
}

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

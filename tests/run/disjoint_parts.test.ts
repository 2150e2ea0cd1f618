/** What shipped configurations train on, choose weights by, and report: no problem is in two of them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { writeWordProblems } from "../../src/data/word_problems/write_word_problems.ts";
import type { Split } from "../../src/data/split.ts";
import { normalized } from "../../src/data/files/record_filter.ts";
import type { DataEntry } from "../../src/run/config/data_schema.ts";
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
    shuffled: false,
    distractors: 0,
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

Deno.test("parts: the word problems' configurations share no question, and report two sources apart", async () => {
  const folder = Deno.makeTempDirSync();
  try {
    writeWordProblems({ folder, train: 16384, seed: 0, largest: 300 });
    const moved = <Entry extends DataEntry>(entries: readonly Entry[]) =>
      entries.map((entry) => ({
        ...entry,
        path: entry.path.replace("data/word-problems", folder),
      }));
    const onThem = configs.filter(({ data }) => data?.train[0].path.includes("word-problems"));
    assert.equal(onThem.length, 6);
    const all = await Promise.all(onThem.map(async ({ file, data }) => {
      assert.ok(data?.validation);
      const parts = { train: moved(data.train), validation: moved(data.validation) };
      const held = { ...data, ...parts, held_out: moved(data.held_out) };
      const requires = { requireAnswer: true, requireSteps: true, validation: true };
      const set = await loadDataSet(held, requires);
      assert.deepEqual([set.train.length, set.validation.length], [8192, 128]);
      assert.deepEqual(
        set.test.map(({ source }) => source),
        [...Array(64).fill("new-numbers"), ...Array(64).fill("new-wordings")],
      );
      const questions = (part: Split) =>
        new Set(set[part].map(({ question }) => normalized(question)));
      return { file, parts: byPart(questions) };
    }));
    assertDisjoint(all);
    // What fine-tuning imitates is not what reinforcement learning practises.
    const [imitated, practised] = [true, false].map((isTuning) =>
      all.filter(({ file }) => file.endsWith("-sft.yaml") === isTuning)
    );
    assert.deepEqual([imitated.length, practised.length], [4, 2]);
    for (const { parts: { train } } of imitated) {
      for (const other of practised) assert.ok(train.isDisjointFrom(other.parts.train), other.file);
    }
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("parts: fine-tuning and training on published sets hold out the same files", () => {
  const onFiles = configs.filter(({ data, file }) => data !== null && file.endsWith("-sft.yaml"));
  for (const { file, data } of onFiles) {
    const training = configs.find((other) => other.file === file.replace("-sft", ""));
    // Of the published run's fine-tuning the data are not published: its solutions are the user's.
    if (!training?.data || file.includes("tango-")) continue;
    assert.deepEqual(data?.held_out, training.data.held_out, file);
    // Of the same file each may have a part of its own.
    const files = (entries: readonly DataEntry[] = []) =>
      entries.map((entry) => ({ ...entry, skip: 0, limit: null }));
    assert.deepEqual(files(data?.train), files(training.data.train), file);
    assert.ok(training.data.held_out.length > 0);
  }
});

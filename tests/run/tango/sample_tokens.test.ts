import assert from "node:assert/strict";
import { join } from "node:path";
import { characterTokenizer } from "../../../src/data/vocabulary.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { PackedNumbers } from "../../../src/run/store/packed_numbers.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { packTokens, type SampleTokens } from "../../../src/run/store/sample_tokens.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import { byte, sentencePiece, vocabulary } from "../../model/sentencepiece_tokenizer.ts";
import { loggedRun } from "../logged_run.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

const unpacked = (packed: PackedNumbers): number[] =>
  packed.flatMap((entry) => typeof entry === "number" ? [entry] : Array(entry[1]).fill(entry[0]));

/** A text, cut where the record says. */
function cut(text: string, { lengths }: Pick<SampleTokens, "lengths">): string[] {
  let end = 0;
  return unpacked(lengths).map((length) => text.slice(end, end += length));
}

Deno.test("sample tokens: bytes of a character, special tokens and a space that is left out", () => {
  const tokens = ["▁The", "▁man", ...[..."é😀"].flatMap(bytesOf), "</s>"];
  const texts = sentencePiece.decodeEach(tokens.map((token) => vocabulary.indexOf(token)));
  const advantages = Float32Array.from(tokens, (_, i) => i < 3 ? 1 / 3 : -2e-7 / 3);
  const record = packTokens({ texts, advantages, differences: undefined, isLeftOut: false });
  assert.deepEqual(record, {
    lengths: [3, 4, 0, 1, [0, 3], 2, 0],
    advantages: [[0.3333, 3], [-6.667e-8, 6]],
  });
  assert.equal(cut("The mané😀", record).join("|"), "The| man||é||||😀|");
  const differences = Float32Array.of(-0.123456);
  const one = { texts: ["a"], advantages: advantages.slice(0, 1), differences, isLeftOut: true };
  assert.deepEqual(packTokens(one), {
    lengths: [1],
    advantages: [0.3333],
    logProbDifferences: [-0.1235],
    isLeftOut: true,
  });
});

function bytesOf(character: string): string[] {
  return Array.from(new TextEncoder().encode(character), byte);
}

/** (value − mean) / (sample std + 1e-6), of the values of a group. */
function normalised(values: readonly number[]): number[] {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const std = Math.sqrt(squares / (values.length - 1));
  return values.map((value) => (value - mean) / (std + 1e-6));
}

const inGroups = <Item>(items: readonly Item[], size: number) =>
  Array.from({ length: items.length / size }, (_, g) => items.slice(g * size, (g + 1) * size));

const GROUP = 4, BATCH = 4;

Deno.test({
  name: "sample tokens: a run's, against its texts and rewards",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const gpu = await Gpu.open("auto");
    try {
      const { generator, verifier } = tinyPolicies;
      const config = tangoConfigSchema.parse({
        task: tinyTask,
        generator: { model: generator, max_response_length: 48 },
        // Its longest critiques have no room.
        verifier: { model: verifier, max_response_length: 40 },
        rollout: { batch_size: BATCH, group_size: GROUP },
        rewards: { minimum_steps: 1, generator_format_weight: 0.5 },
        advantage: { alpha: { initial: 0.5, schedule: "none" } },
        class_reweighting: { method: "inverse" },
        loss: { mini_batches: 2, mask_truncated: true },
        schedule: { generator_steps: 1, total_training_steps: 2, test_frequency: 1 },
        evaluation: { problems: 1 },
        samples_per_step: BATCH * GROUP,
      });
      const metrics = await loggedRun(gpu, config, join(folder, "run"));
      const samples = readJsonLines<Sample>(RunFolder.at(join(folder, "run")).samples);
      const phases = ["generator", "verifier"] as const;
      const of = (phase: Sample["phase"]) => samples.filter((sample) => sample.phase === phase);

      await test.step("they are the text's, of the vocabulary", () => {
        const { model: { vocab } } = characterTokenizer();
        const texts = [
          ...of("generator").map(({ solution, tokens }) => ({ text: solution, tokens })),
          ...of("verifier").flatMap(({ critiques }) => critiques),
        ];
        assert.equal(texts.length, 2 * BATCH * GROUP);
        for (const { text, tokens } of texts) {
          assert.ok(tokens);
          const pieces = cut(text, tokens);
          assert.equal(pieces.join(""), text);
          for (const piece of pieces) assert.ok(piece === "" || Object.hasOwn(vocab, piece), piece);
          assert.equal(unpacked(tokens.advantages).length, pieces.length);
        }
        // What ends with its last tag ends with a token that has no text.
        const ended = of("generator").filter(({ solution }) => solution.endsWith("</answer>"));
        assert.ok(ended.length > 0);
        for (const { solution, tokens } of ended) {
          assert.ok(tokens && cut(solution, tokens).at(-1) === "");
        }
      });

      await test.step("a solution's advantages: of the outcome, and of the steps that end later", () => {
        let judged = 0, unequal = 0;
        for (const group of inGroups(of("generator"), GROUP)) {
          const outcomes = normalised(group.map(({ rewards }) => Number(rewards?.outcome)));
          const steps = group.flatMap(({ stepRewards = [] }) => stepRewards);
          const adjusted = steps.length > 1 ? normalised(steps) : steps;
          group.forEach(({ solution, stepRewards = [], tokens }, i) => {
            assert.ok(tokens);
            const own = adjusted.splice(0, stepRewards.length);
            const ends = [...solution.matchAll(/<step>[^]*?<\/step>/g)]
              .map(({ index, 0: text }) => index + text.length);
            let begin = 0;
            const expected = cut(solution, tokens).map((piece) => {
              // A step ends with its tag, whose token still belongs to it.
              const later = own.filter((_, k) => ends[k] > begin);
              begin += piece.length;
              return 0.5 * outcomes[i] + 0.5 * later.reduce((a, b) => a + b, 0);
            });
            assertFourDigits(unpacked(tokens.advantages), expected, solution);
            if (own.length > 0) judged++;
            if (new Set(expected).size > 1) unequal++;
          });
        }
        assert.ok(judged > 0 && unequal > 0, `${judged} judged, ${unequal} of unequal tokens`);
      });

      await test.step("a critique's advantages: its group's, weighed by its class", () => {
        const critiques = of("verifier");
        const count = (isCorrect: boolean) =>
          critiques.filter(({ correct }) => correct === isCorrect).length;
        const coefficients = critiques.map(({ correct }) => 1 / count(correct));
        const mean = coefficients.reduce((a, b) => a + b, 0) / coefficients.length;
        let learned = 0;
        for (const [g, group] of inGroups(critiques, GROUP).entries()) {
          const rewards = group.map(({ critiques: [{ reward }] }) => Number(reward));
          normalised(rewards).forEach((value, i) => {
            const [{ text, tokens }] = group[i].critiques;
            assert.ok(tokens);
            const expected = value * coefficients[g * GROUP + i] / mean;
            const found = unpacked(tokens.advantages);
            assertFourDigits(found, found.map(() => expected), text);
            if (expected !== 0) learned++;
          });
        }
        assert.ok(learned > 0);
      });

      await test.step("differences only where they are of the policy that sampled", () => {
        for (const phase of phases) {
          const records = of(phase).map(({ tokens, critiques: [critique] }) =>
            phase === "generator" ? tokens : critique.tokens
          );
          const [first, second] = inGroups(records, records.length / 2);
          for (const record of first) {
            assert.ok(record?.logProbDifferences);
            const differences = unpacked(record.logProbDifferences);
            assert.equal(differences.length, unpacked(record.lengths).length);
          }
          assert.ok(second.every((record) => record && !("logProbDifferences" in record)));
          const largest = first.flatMap((record) => unpacked(record?.logProbDifferences ?? []))
            .reduce((most, difference) => Math.max(most, Math.abs(difference)), 0);
          const line = metrics.find((line) => line.phase === phase);
          assert.equal(largest, line?.["sampling/logp_difference/max"]);
        }
      });

      await test.step("what was cut off is left out, and said to be", () => {
        const records = [
          ...of("generator"),
          ...of("verifier").flatMap(({ critiques }) => critiques),
        ]
          .flatMap(({ tokens = null }) => tokens ?? []);
        const leftOut = records.filter(({ isLeftOut }) => isLeftOut);
        // What came to its end has a last token without a text.
        const cutOff = records.filter(({ lengths }) => unpacked(lengths).at(-1) !== 0);
        assert.ok(cutOff.length < records.length);
        assert.deepEqual(leftOut, cutOff);
      });

      await test.step("nothing was trained in an evaluation", () => {
        const evaluated = of("evaluation");
        assert.ok(evaluated.length > 0);
        for (const { tokens, critiques } of evaluated) {
          assert.equal(tokens, undefined);
          assert.ok(critiques.every(({ tokens }) => tokens === undefined));
        }
      });
    } finally {
      gpu.close();
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

/** The run rounds to four digits, of numbers that it has as f32. */
function assertFourDigits(found: number[], expected: readonly number[], what: string): void {
  assert.equal(found.length, expected.length);
  found.forEach((value, i) => {
    const bound = 6e-4 * Math.abs(expected[i]) + 1e-6;
    assert.ok(Math.abs(value - expected[i]) <= bound, `${what}: ${i}: ${value}, ${expected[i]}`);
  });
}

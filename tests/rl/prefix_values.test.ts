import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { lastLetterTask } from "../../src/data/last_letter.ts";
import { renderSolution } from "../../src/data/solution_text.ts";
import type { Problem } from "../../src/data/task.ts";
import { alone } from "../../src/distributed/communicator.ts";
import { onEveryRank } from "../../src/distributed/placed.ts";
import { rollout } from "../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { loadModelFolder } from "../../src/model/weights/model_folder.ts";
import type { Policy } from "../../src/rl/policy.ts";
import {
  outcomeValues,
  prefixValues,
  stepValues,
  type ValuedSolution,
} from "../../src/rl/prefix_values.ts";
import { generatorTemplate } from "../../src/rl/prompt_template.ts";
import type { ProblemSource } from "../../src/rl/responses.ts";
import { SampledAhead } from "../../src/rl/sampled_ahead.ts";
import { parseSolution } from "../../src/rl/text/parse_solution.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { tinyPolicies } from "../run/tiny_policies.ts";

const source: ProblemSource<Problem> = {
  question: ({ question }) => question,
  referenceAnswer: ({ answer }) => answer,
  sourceName: () => "last-letter",
  isCorrect: (problem, answer) => lastLetterTask.isCorrectAnswer(problem, answer),
  isSameAnswer: (_, answer, other) => answer === other,
};

const template = generatorTemplate(
  fileURLToPath(new URL("../../configs/prompts/generator.txt", import.meta.url)),
);

const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 7, stream: 12, step: 3 };

/** The tiny generator, which solves a part of its problems of one word of two letters. */
async function tinyGenerator(gpu: Gpu, maximumResponse: number) {
  const { model, tokenizer, stopTokens } = await loadModelFolder(gpu, tinyPolicies.generator, {
    trained: false,
  });
  const policy: Policy<unknown> = {
    tokenizer,
    template: null,
    stopTokens,
    maximumResponse,
    maximumPrompt: null,
    config: model.config,
    parameterCount: model.parameterCount,
    isTrained: false,
    engine: onEveryRank(alone, {
      model,
      sampler: new Sampler(model, { slots: 6, stepsBetweenReadbacks: 4 }),
      trainer: null,
      ahead: new SampledAhead(),
      reference: null,
      hostReference: null,
    }),
  };
  return policy;
}

/** A written solution in the generator's tokens. */
function written(
  { tokenizer, stopTokens }: Policy<unknown>,
  question: string,
  steps: readonly string[],
  answer: string,
): ValuedSolution<Problem> {
  const problem = { question, answer: question[question.length - 1], goldSteps: [] };
  const text = renderSolution({ steps, answer });
  const tokens = Uint32Array.of(...tokenizer.encode(text), stopTokens[0]);
  const prompt = tokenizer.encode(template.render({ question }));
  return {
    problem,
    prompt,
    rollout: { sequenceId: 0, tokens, logProbs: new Float32Array(tokens.length), finished: true },
    tokenTexts: tokenizer.decodeEach(tokens),
    parsed: parseSolution(text),
    correct: lastLetterTask.isCorrectAnswer(problem, answer),
  };
}

onEveryGpu("prefix values: shares of right answers from the end of each step", async (gpu) => {
  const generator = await tinyGenerator(gpu, 48);
  const { here } = generator.engine;
  assert.ok(here);
  try {
    const solutions = [
      written(generator, "ab", ["ab:b"], "b"),
      written(generator, "cd", ["cd:c"], "c"),
      written(generator, "ef", ["ef:e", "ef:f"], "e"),
      written(generator, "gh", [], "h"),
    ];
    const count = 5;
    const { values, sampledTokens } = await prefixValues(generator, source, solutions, {
      count,
      sampling,
    });
    const outcomes = outcomeValues(solutions);
    assert.deepEqual(outcomes, { values: [[1], [0], [0, 0], []], sampledTokens: 0 });
    // The same by hand: each continuation by itself, its text searched for its last box.
    let sequenceId = 0, tokens = 0;
    const expected: number[][] = [];
    for (const { problem, prompt, rollout: { tokens: own }, correct } of solutions) {
      const text = generator.tokenizer.decode(own);
      const ofSteps: number[] = [];
      for (const { index } of text.matchAll(/<\/step>/g)) {
        const until = generator.tokenizer.encode(text.slice(0, index + "</step>".length));
        let right = correct ? 1 : 0;
        for (let i = 0; i < count; i++, sequenceId++) {
          const asked = { prompt: Uint32Array.of(...prompt, ...until), sequenceIds: [sequenceId] };
          const [[response]] = await rollout(here.sampler, [asked], {
            ...sampling,
            stopTokens: generator.stopTokens,
            maximumResponse: 48 - until.length,
          });
          tokens += response.tokens.length;
          const whole = generator.tokenizer.decode([...until, ...response.tokens]);
          if (/<answer>\\boxed\{(.*)\}<\/answer>/.exec(whole)?.[1] === problem.answer) right++;
        }
        ofSteps.push(right / (count + 1));
      }
      expected.push(ofSteps);
    }
    assert.deepEqual(values, expected);
    assert.equal(sampledTokens, tokens);
    assert.deepEqual(values.map(({ length }) => length), [1, 1, 2, 0]);
    // Or nothing would have been told apart.
    assert.ok(new Set(values.flat()).size > 1, String(values));
  } finally {
    here.sampler.close();
    here.model.release();
  }
});

onEveryGpu("step values: fresh continuations alone, and at the end the outcome", async (gpu) => {
  const generator = await tinyGenerator(gpu, 48);
  const { here } = generator.engine;
  assert.ok(here);
  try {
    const solutions = [
      written(generator, "ab", ["ab:b"], "b"),
      written(generator, "ef", ["ef:e", "ef:f", "f"], "f"),
      written(generator, "cd", ["cd:d", "cd:d"], "c"),
      written(generator, "gh", [], "h"),
    ];
    const count = 6;
    // Hot enough that it errs.
    const hot = { ...sampling, temperature: 2.5 };
    const found = await stepValues(generator, source, solutions, { count, sampling: hot });
    let sequenceId = 0, tokens = 0;
    const expected: number[][] = [];
    for (const { problem, prompt, rollout: { tokens: own }, correct } of solutions) {
      const text = generator.tokenizer.decode(own);
      const ends = [...text.matchAll(/<\/step>/g)].map(({ index }) => index + "</step>".length);
      const ofSteps: number[] = [];
      for (const end of ends.slice(0, -1)) {
        const until = generator.tokenizer.encode(text.slice(0, end));
        let right = 0;
        for (let i = 0; i < count; i++, sequenceId++) {
          const asked = { prompt: Uint32Array.of(...prompt, ...until), sequenceIds: [sequenceId] };
          const [[response]] = await rollout(here.sampler, [asked], {
            ...hot,
            stopTokens: generator.stopTokens,
            maximumResponse: 48 - until.length,
          });
          tokens += response.tokens.length;
          const whole = generator.tokenizer.decode([...until, ...response.tokens]);
          if (/<answer>\\boxed\{(.*)\}<\/answer>/.exec(whole)?.[1] === problem.answer) right++;
        }
        ofSteps.push(right / count);
      }
      expected.push(ends.length === 0 ? [] : [...ofSteps, correct ? 1 : 0]);
    }
    assert.deepEqual(found, { values: expected, sampledTokens: tokens });
    assert.deepEqual(found.values.map(({ length }) => length), [1, 3, 2, 0]);
    const inner = found.values.flatMap((own) => own.slice(0, -1));
    assert.ok(inner.some((value) => value > 0 && value < 1), String(inner));
  } finally {
    here.sampler.close();
    here.model.release();
  }
});

onEveryGpu(
  "prefix values: a beginning without room is worth its own solution's outcome",
  async (gpu) => {
    const longer = await tinyGenerator(gpu, 48);
    const { length } = longer.tokenizer.encode("<think><step>ab:b</step>");
    const generator = { ...longer, maximumResponse: length };
    const { here } = generator.engine;
    assert.ok(here);
    try {
      const solutions = [
        written(generator, "ab", ["ab:b"], "b"),
        written(generator, "ab", ["ab:b"], "c"),
      ];
      const found = await prefixValues(generator, source, solutions, { count: 3, sampling });
      assert.deepEqual(found, { values: [[1], [0]], sampledTokens: 0 });
      const twice = [written(generator, "ef", ["ef:e", "ef:f"], "e")];
      const changes = await stepValues(generator, source, twice, { count: 3, sampling });
      assert.deepEqual(changes, { values: [[0, 0]], sampledTokens: 0 });
    } finally {
      here.sampler.close();
      here.model.release();
    }
  },
);

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
  type GeneratorTemplate,
  generatorTemplate,
  type VerifierTemplate,
  verifierTemplate,
} from "../../src/rl/prompt_template.ts";
import type { Critique, ProblemSource, Solution } from "../../src/rl/responses.ts";
import { firstFlaggedStep, rewriteFlagged } from "../../src/rl/rewriting.ts";
import { SampledAhead } from "../../src/rl/sampled_ahead.ts";
import { judgeSolutions, type WeighedSolution } from "../../src/rl/solution_quality.ts";
import { parseCritique } from "../../src/rl/text/parse_critique.ts";
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

const promptFile = (name: string) =>
  fileURLToPath(new URL(`../../configs/prompts/${name}.txt`, import.meta.url));

const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 7, stream: 12, step: 3 };

/** A tiny policy with a template. */
async function tiny<Template>(
  gpu: Gpu,
  folder: string,
  template: Template,
  maximumResponse: number,
): Promise<Policy<Template>> {
  const { model, tokenizer, stopTokens } = await loadModelFolder(gpu, folder, { trained: false });
  return {
    ...{ tokenizer, template, stopTokens, maximumResponse, maximumPrompt: null },
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
}

function release({ engine: { here } }: Policy<unknown>): void {
  here?.sampler.close();
  here?.model.release();
}

/** A written solution in the generator's tokens. */
function written(
  { tokenizer, stopTokens, template }: Policy<GeneratorTemplate>,
  question: string,
  steps: readonly string[],
  answer: string,
): Solution<Problem> {
  const problem = { question, answer: question[question.length - 1], goldSteps: [] };
  const text = renderSolution({ steps, answer });
  const tokens = Uint32Array.of(...tokenizer.encode(text), stopTokens[0]);
  return {
    ...{ problem, text, version: null, formatScore: 1 },
    prompt: tokenizer.encode(template.render({ question })),
    rollout: { sequenceId: 0, tokens, logProbs: new Float32Array(tokens.length), finished: true },
    tokenTexts: tokenizer.decodeEach(tokens),
    parsed: parseSolution(text),
    correct: lastLetterTask.isCorrectAnswer(problem, answer),
  };
}

/** What a critique with these judgments is read as. */
function judging(...judgments: readonly boolean[]) {
  const steps = judgments.map((one) => `<step>\\boxed{${one ? "" : "IN"}CORRECT}</step>`).join("");
  const text = `<step_verification>${steps}</step_verification>`;
  return { text, parsed: parseCritique(text) };
}

/** A solution with critiques of given judgments, each of 10 tokens. */
function judged(
  solution: Solution<Problem>,
  ...critiques: readonly (readonly boolean[])[]
): WeighedSolution<Problem> {
  const rollout = { ...solution.rollout, tokens: new Uint32Array(10) };
  return {
    solution,
    quality: 0.5,
    critiques: critiques.map((judgments): Critique<Problem> => ({
      ...{ solution, prompt: new Uint32Array(), rollout, version: 0, isCut: false },
      ...{ ...judging(...judgments), formatScore: 1 },
    })),
  };
}

Deno.test("first flagged step: what most of the critiques say that judge each step", () => {
  assert.equal(firstFlaggedStep([judging(true, false, false)], 3), 1);
  assert.equal(firstFlaggedStep([judging(true, true)], 2), null);
  assert.equal(firstFlaggedStep([judging(false)], 2), null);
  assert.equal(firstFlaggedStep([judging(false, true), judging(true, false)], 2), null);
  const most = [judging(false, true), judging(true, false), judging(true, false), judging(false)];
  assert.equal(firstFlaggedStep(most, 2), 1);
  assert.equal(firstFlaggedStep([], 2), null);
});

onEveryGpu("rewriting: the generator goes on from the step before the flagged one", async (gpu) => {
  const generator = await tiny(
    gpu,
    tinyPolicies.generator,
    generatorTemplate(promptFile("generator")),
    48,
  );
  const { here } = generator.engine;
  assert.ok(here);
  try {
    const first = [
      judged(written(generator, "ab", ["ab:b"], "b"), [true]),
      judged(written(generator, "cd", ["cd:c"], "c"), [false], [false], [true]),
      judged(written(generator, "ef", ["ef:f", "ef:e"], "e"), [true, false]),
      judged(written(generator, "gh", [], "g"), [false]),
    ];
    const heard: { round: number; texts: string[] }[] = [];
    const rewriting = await rewriteFlagged(generator, source, first, {
      ...{ rounds: 3, minimumSteps: 1 },
      sampling: (round) => ({ ...sampling, step: 10 + round }),
      // The first to be rewritten is flagged at its first step once more; the other one passes.
      judge: (solutions, round) => {
        heard.push({ round, texts: solutions.map(({ text }) => text) });
        return Promise.resolve(solutions.map((solution) => {
          const passes = round > 1 || solution.problem.question !== "cd";
          return judged(solution, solution.parsed.steps.map(() => passes));
        }));
      },
    });
    // The same by hand: each continuation by itself, under its place and round.
    const tokens: number[] = [];
    const goOn = async (question: string, kept: string, place: number, round: number) => {
      const { tokenizer } = generator;
      const prompt = tokenizer.encode(generator.template.render({ question }) + kept);
      const before = tokenizer.encode(kept).length;
      const [[response]] = await rollout(here.sampler, [{ prompt, sequenceIds: [place] }], {
        ...{ ...sampling, step: 10 + round },
        ...{ stopTokens: generator.stopTokens, maximumResponse: 48 - before },
      });
      tokens.push(response.tokens.length);
      return kept + tokenizer.decode(response.tokens);
    };
    const kept = "<think><step>ef:f</step>";
    assert.ok(first[2].solution.text.startsWith(kept));
    const once = [await goOn("cd", "", 1, 1), await goOn("ef", kept, 2, 1)];
    const again = parseSolution(once[0]).steps.length > 0;
    assert.ok(again, "the generator writes no step: nothing is tested");
    const twice = await goOn("cd", "", 1, 2);
    assert.deepEqual(heard, [{ round: 1, texts: once }, { round: 2, texts: [twice] }]);
    assert.deepEqual(
      rewriting.solutions.map(({ text }) => text),
      [first[0].solution.text, twice, once[1], first[3].solution.text],
    );
    assert.deepEqual(rewriting.isRewritten, [false, true, true, false]);
    assert.equal(rewriting.generatorTokens, tokens.reduce((sum, one) => sum + one, 0));
    // Three more critiques of 10 tokens.
    assert.equal(rewriting.verifierTokens, 30);
    for (const { text, correct, problem, tokenTexts } of rewriting.solutions) {
      const answer = /<answer>\\boxed\{(.*)\}<\/answer>/.exec(text)?.[1];
      assert.equal(correct, answer === problem.answer);
      assert.equal(tokenTexts.join(""), text);
    }
  } finally {
    release(generator);
  }
});

onEveryGpu("quality: the verifier's own probabilities of the two verdicts", async (gpu) => {
  const template: VerifierTemplate = verifierTemplate(promptFile("verifier"));
  const verifier = await tiny(gpu, tinyPolicies.verifier, template, 64);
  const generator = await tiny(
    gpu,
    tinyPolicies.generator,
    generatorTemplate(promptFile("generator")),
    48,
  );
  const { here } = verifier.engine;
  assert.ok(here);
  try {
    const solutions = ["ab", "cd", "ef"].map((question) =>
      written(generator, question, [`${question}:${question[1]}`], question[1])
    );
    const found = await judgeSolutions(verifier, source, solutions, 2, sampling);
    let read = 0;
    for (const { critiques, quality } of found) {
      let sum = 0;
      for (const { prompt, rollout: { tokens }, parsed, text } of critiques) {
        if (parsed.verdict === null) continue;
        read++;
        // Each word is a token. The likeliest continuations of the text before it.
        const word = text.lastIndexOf(parsed.verdict ? "CORRECT" : "INCORRECT");
        const until = verifier.tokenizer.encode(text.slice(0, word));
        assert.deepEqual(until, tokens.slice(0, until.length));
        const [[next]] = await rollout(here.sampler, [{
          prompt: Uint32Array.of(...prompt, ...until),
          sequenceIds: [0],
        }], {
          ...{ ...sampling, temperature: 0, likeliest: 20 },
          ...{ stopTokens: verifier.stopTokens, maximumResponse: 1 },
        });
        const words = verifier.tokenizer.encode("CORRECTINCORRECT");
        assert.equal(words.length, 2);
        const [correct, incorrect] = Array.from(words, (one) => {
          const at = next.likeliest?.tokens.subarray(0, 20).indexOf(one) ?? -1;
          return at < 0 ? 0 : Math.exp(next.likeliest?.logProbs[at] ?? -Infinity);
        });
        sum += correct / (correct + incorrect);
      }
      // The other word may be missing among 8 of the likeliest where it has less than a hundred-thousandth.
      assert.ok(Math.abs(quality - sum / 2) < 1e-4, `${quality}, expected ${sum / 2}`);
    }
    assert.ok(read > 0, "no verdict can be read: nothing is tested");
  } finally {
    release(verifier);
    release(generator);
  }
});

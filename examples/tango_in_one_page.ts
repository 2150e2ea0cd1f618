/**
 * RL Tango (arXiv 2505.15034) on one page: a generator that solves last-letter problems step by step and a verifier
 * that judges every step learn together. What a run has besides (configuration, logs, checkpoints) is in src/run.
 *
 *     deno run -A examples/tango_in_one_page.ts 30 16 8    # steps, problems in each, responses to each
 */
import { mean } from "../src/base/statistics.ts";
import { lastLetterTask as task } from "../src/data/last_letter.ts";
import { rollout } from "../src/engine/sampling/rollout.ts";
import { Sampler } from "../src/engine/sampling/sampler.ts";
import { promptedSequence } from "../src/engine/training/sequence.ts";
import { Trainer } from "../src/engine/training/trainer.ts";
import { Gpu } from "../src/gpu/gpu.ts";
import { loadModelFolder } from "../src/model/weights/model_folder.ts";
import { RandomStream, streams } from "../src/random/philox.ts";
import { tangoAdvantages } from "../src/rl/advantage/advantages.ts";
import { classCoefficients, updateClassCounts } from "../src/rl/advantage/class_reweighting.ts";
import { outcomeAdvantages } from "../src/rl/advantage/outcome_advantages.ts";
import { generatorTemplate, verifierTemplate } from "../src/rl/prompt_template.ts";
import { requests } from "../src/rl/respond.ts";
import { generatorReward, verifierReward } from "../src/rl/reward/rewards.ts";
import { alphaAt } from "../src/rl/schedule/alpha_schedule.ts";
import { generatorFormatScore, verifierFormatScore } from "../src/rl/text/format_score.ts";
import { parseCritique } from "../src/rl/text/parse_critique.ts";
import { parseSolution } from "../src/rl/text/parse_solution.ts";
import { lastTokenOfSpans } from "../src/rl/text/token_spans.ts";

const [steps = 30, batchSize = 16, groupSize = 8] = Deno.args.map(Number);
const difficulty = { minimumSteps: 2, maximumSteps: 4, minimumLetters: 3, maximumLetters: 7 };
const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 0 };
const clip = { name: "ppo", clipRatioLow: 0.2, clipRatioHigh: 0.2, entropyCoefficient: 0 } as const;
const adamw = { betas: [0.9, 0.95], epsilon: 1e-8, weightDecay: 0, maxGradientNorm: 1 } as const;
const alphaSchedule = { schedule: "exp", initial: 0.1, minimum: 1e-3, decayFraction: 1 } as const;

const gpu = await Gpu.open();
/** A policy: what samples it, what trains it, and the frozen weights from which it should not go far. */
async function open(folder: string, stream: number, maximumResponse: number, learningRate: number) {
  const { model, tokenizer, stopTokens } = await loadModelFolder(gpu, folder, { trained: true });
  const sampler = new Sampler(model, { slots: 256, stepsBetweenReadbacks: 16 });
  const passes = { microBatchTokens: 8192, gradientCheckpointing: false, sharePrompts: true };
  const trainer = new Trainer(model, { ...passes, shards: 1 });
  const options = { ...sampling, stream, stopTokens, maximumResponse };
  return { tokenizer, sampler, trainer, options, learningRate, reference: model.snapshot() };
}
type Policy = Awaited<ReturnType<typeof open>>;
const generator = await open("weights/last-letter/generator", streams.generatorRollout, 80, 3e-4);
const verifier = await open("weights/last-letter/verifier", streams.verifierRollout, 128, 8e-4);
const toSolve = generatorTemplate("configs/prompts/generator.txt");
const toJudge = verifierTemplate("configs/prompts/verifier.txt");

/** Rollout: `count` responses to each prompt. Those to one prompt are a group. */
async function respond(policy: Policy, step: number, prompts: readonly string[], count: number) {
  const { tokenizer, sampler, options } = policy;
  const asked = requests(prompts.map((prompt) => tokenizer.encode(prompt)), count);
  const groups = await rollout(sampler, asked, { ...options, step });
  sampler.release(); // Training needs the memory.
  return groups.flatMap((responses, group) =>
    responses.map((response) => ({ ...response, group, prompt: asked[group].prompt }))
  );
}
type Response = Awaited<ReturnType<typeof respond>>[number];

/** Solutions, and what the rule says of each. The problems are the same in every step: few steps show something. */
async function solve(step: number, count: number) {
  const random = new RandomStream(sampling.seed, streams.problems);
  const draw = () => task.makeProblem(() => random.uniform(), difficulty);
  const problems = Array.from({ length: batchSize }, draw);
  const prompts = problems.map(({ question }) => toSolve.render({ question }));
  return (await respond(generator, step, prompts, count)).map((response) => {
    const problem = problems[response.group];
    const text = generator.tokenizer.decode(response.tokens);
    const solution = parseSolution(text);
    const isCorrect = task.isCorrectAnswer(problem, solution.answer);
    return { ...response, problem, text, solution, isCorrect };
  });
}

/** Critiques of solutions: a judgment of each step, and a verdict. */
async function judge(step: number, solutions: Awaited<ReturnType<typeof solve>>, count: number) {
  const prompts = solutions.map(({ problem: { question }, text, solution: { steps } }) =>
    toJudge.render({ question, solution: text, steps: steps.length })
  );
  return (await respond(verifier, step, prompts, count)).map((response) => {
    return { ...response, critique: parseCritique(verifier.tokenizer.decode(response.tokens)) };
  });
}

/** One update: the clipped loss, a mean over all tokens, and a KL term that holds a policy near its start. */
async function learn(policy: Policy, responses: readonly Response[], advantages: Float32Array[]) {
  const total = responses.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const sequences = responses.map(({ prompt, tokens, logProbs }, i) => {
    const weights = new Float32Array(tokens.length).fill(1 / total);
    const sampled = { oldLogProbs: logProbs, advantages: advantages[i] };
    return { ...promptedSequence(prompt, tokens), ...sampled, weights };
  });
  const kl = { coefficient: 0.03, estimator: "k3", reference: policy.reference } as const;
  await policy.trainer.forwardBackward(sequences, { ...clip, kl });
  await policy.trainer.optimStep({ ...adamw, learningRate: policy.learningRate });
}

/** The rule rewards a solution's answer, a critique its steps: both become advantages of its tokens. */
async function generatorStep(step: number): Promise<string> {
  const solutions = await solve(step, groupSize);
  const critiques = await judge(step, solutions, 1);
  const scored = solutions.map(({ group, tokens, isCorrect, solution }, i) => {
    const rule = { correctness: Number(isCorrect), groundTruthWeight: 1 };
    const format = { formatScore: 0, generatorFormatWeight: 0 };
    const judged = { stepCount: solution.steps.length, critiques: [critiques[i].critique] };
    const { outcome, steps } = generatorReward({ ...rule, ...format, ...judged });
    const ends = lastTokenOfSpans(generator.tokenizer.decodeEach(tokens), solution.steps);
    const stepParts = { stepRewards: steps, stepEndTokens: steps.length > 0 ? ends : [] };
    return { group, responseLength: tokens.length, reward: outcome, ...stepParts };
  });
  const alpha = alphaAt(alphaSchedule, generatorSteps++, steps - Math.floor(steps / 3));
  const weights = { alpha, outcomeWeight: 1, processWeight: 1 };
  await learn(generator, solutions, tangoAdvantages(scored, "grpo", weights));
  const judgments = critiques.flatMap(({ critique }) => critique.stepJudgments.map(Number));
  return `generator reward ${meanOf(scored)}, steps judged CORRECT ${mean(judgments).toFixed(3)}`;
}

/** Verdict and format of a critique are rewarded; right and wrong solutions count alike, however few they are. */
async function verifierStep(step: number): Promise<string> {
  const solutions = await solve(step, 1);
  const critiques = await judge(step, solutions, groupSize);
  const scored = critiques.map(({ group, tokens, critique }) => {
    const { solution, isCorrect: solutionIsCorrect } = solutions[group];
    const formatOfSolution = generatorFormatScore(solution, { minimumSteps: 2 });
    const held = { expectedSteps: solution.steps.length, generatorFormatScore: formatOfSolution };
    const judged = {
      judgments: [critique.verdict],
      formatScore: verifierFormatScore(critique, held),
    };
    const weights = { verifierCorrectnessWeight: 1, verifierFormatWeight: 0.8 };
    const reward = verifierReward({ solutionIsCorrect, ...judged, ...weights });
    return { group, responseLength: tokens.length, reward, stepRewards: [], stepEndTokens: [] };
  });
  classCounts = updateClassCounts(classCounts, solutions.map(({ isCorrect }) => isCorrect), 0.8);
  const labels = critiques.map(({ group }) => solutions[group].isCorrect);
  const { perSample } = classCoefficients(classCounts, labels, "sqrt_inverse");
  const advantages = outcomeAdvantages(scored, "grpo")
    .map((row, i) => row.map((advantage) => advantage * perSample[i]));
  await learn(verifier, critiques, advantages);
  const right = critiques.map(({ critique }, i) => Number(critique.verdict === labels[i]));
  return `verifier reward ${meanOf(scored)}, right verdicts ${mean(right).toFixed(3)}`;
}

const meanOf = (all: { reward: number }[]) => mean(all.map(({ reward }) => reward)).toFixed(3);
let generatorSteps = 0;
let classCounts: Parameters<typeof updateClassCounts>[0] = null;
for (let step = 1; step <= steps; step++) {
  console.log(`step ${step}: ${await (step % 3 === 0 ? verifierStep : generatorStep)(step)}`);
}
Deno.exit(); // Dawn would keep the process.

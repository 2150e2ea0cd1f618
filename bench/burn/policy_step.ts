import { join } from "node:path";
import { lossBefore, makePolicyStep, stepAdamw, stepLoss } from "../end_to_end/training_step.ts";
import { PeerDisagrees } from "../peer_disagrees.ts";
import type { PrepareBeside } from "./measure_burn.ts";
import { writeNumbers } from "./number_files.ts";

/** What f32 sums in another order leave in a mean over thousands of tokens, as a share of it. */
const shareBound = 1e-4;
/** The same of what one step does to the loss, which is some thousandths of it. */
const changeBound = 0.02;

/**
 * The default model's policy update, on the same weights, tokens and log-probs of sampling. Losses and gradient norms
 * of the first two steps are compared, and what the first one did to the loss.
 */
export const preparePolicyStep: PrepareBeside = async (bench, task, peer, folder, say) => {
  const { shape } = task;
  const { sequences, tokens } = shape.size;
  const { model, samples, update } = await makePolicyStep(bench, shape);
  if (shape.model === null) throw new Error(`${task.name} names no model`);
  const weights: { name: string; rows: number; columns: number; path: string }[] = [];
  for (const [name, values] of Object.entries(await model.parameters.read())) {
    const of = model.parameters.shapes().get(name) ?? [values.length];
    const [rows, columns] = of.length === 2 ? of : [1, of[0]];
    const path = join(folder, name);
    writeNumbers(path, values);
    weights.push({ name, rows, columns, path });
  }
  const tokensFile = join(folder, "tokens");
  const text = samples.flatMap(({ prompt, response }) => [...prompt, ...response]);
  writeNumbers(tokensFile, Uint32Array.from(text));
  const oldLogProbsFile = join(folder, "old_log_probs");
  writeNumbers(
    oldLogProbsFile,
    Float32Array.from(samples.flatMap(({ oldLogProbs }) => [...oldLogProbs])),
  );
  const ours = [await update(), await update()];
  const theirs = await peer.ask({
    do: "training_step",
    model: shape.model,
    weights,
    sequences,
    tokens,
    tokensFile,
    oldLogProbsFile,
    clipLow: stepLoss.clipRatioLow,
    clipHigh: stepLoss.clipRatioHigh,
    entropyCoefficient: stepLoss.entropyCoefficient,
    learningRate: stepAdamw.learningRate,
    epsilon: stepAdamw.epsilon,
    weightDecay: stepAdamw.weightDecay,
    maxGradientNorm: stepAdamw.maxGradientNorm,
  });
  const losses = ours.map(lossBefore);
  const norms = ours.map(({ gradientNorm }) => gradientNorm);
  const change = ([first, second]: readonly number[]) => second - first;
  const words = `losses ${losses} and ${theirs.losses}, gradient norms ${norms} and ` +
    `${theirs.gradient_norms}`;
  const off = (own: number, other: number) => Math.abs(own / other - 1);
  const isSame = losses.every((loss, step) => off(loss, theirs.losses[step]) <= shareBound) &&
    norms.every((norm, step) => off(norm, theirs.gradient_norms[step]) <= shareBound) &&
    off(change(losses), change(theirs.losses)) <= changeBound;
  if (!isSame) throw new PeerDisagrees(`not burn's: ${words}`);
  say(`Ours and burn's first two steps: ${words}`);
  return {
    amount: sequences * tokens,
    run: async () => void await update(),
    peers: { burn: async () => (await peer.ask({ do: "run", times: 1 })).seconds },
  };
};

/**
 * Solutions that generator steps made since the last verifier step: it judges as many right as wrong ones of them, as
 * far as there are enough, instead of fresh ones.
 */

import { z } from "zod";
import type { Policy } from "../../rl/policy.ts";
import type { GeneratorTemplate } from "../../rl/prompt_template.ts";
import { readSolved, type Solution } from "../../rl/responses.ts";
import { RandomStream } from "../../random/philox.ts";
import type { Problems } from "../problems/problems.ts";
import { countSchema } from "../store/stored_checkpoint.ts";

/** Schema of `PooledSolution`. */
export const pooledSolutionSchema = z.object({
  step: countSchema,
  position: countSchema,
  batch: countSchema,
  place: countSchema,
  version: countSchema,
  correct: z.boolean(),
  tokens: z.base64(),
});

/**
 * A solution as checkpoints keep it: all that cannot be made again. Its problem is the `place`-th of a batch that is
 * drawn as it was, from `position` of the files; `tokens` are little-endian 32-bit words.
 */
export type PooledSolution = z.output<typeof pooledSolutionSchema>;

/** A batch of problems, as a generator step drew it. */
export interface DrawnBatch {
  readonly problems: readonly unknown[];
  /** Records of the files that were gone through before. */
  readonly position: number;
}

/**
 * The pool with a generator step's solutions.
 *
 * @param drawn the batches of the step
 * @param most solutions to keep; the oldest go
 */
export function pooled(
  pool: readonly PooledSolution[],
  step: number,
  drawn: readonly DrawnBatch[],
  solutions: readonly Solution<unknown>[],
  most: number,
): readonly PooledSolution[] {
  const places = new Map(
    drawn.flatMap(({ problems, position }, batch) =>
      problems.map((problem, place) => [problem, { position, batch, place }] as const)
    ),
  );
  const added = solutions.map(({ problem, version, correct, rollout: { tokens } }) => {
    const place = places.get(problem);
    if (!place || version === null) throw new Error("a solution of no problem that was drawn");
    return { step, ...place, version, correct, tokens: encodeTokens(tokens) };
  });
  return [...pool, ...added].slice(-most);
}

/**
 * Draws `count` solutions without replacement, or all there are: half of them right, half wrong, and more of the one
 * where there are not enough of the other. Their order is as random as the choice.
 */
export function drawBalanced(
  pool: readonly PooledSolution[],
  count: number,
  random: RandomStream,
): PooledSolution[] {
  const shuffled = [...pool];
  for (let i = shuffled.length - 1; i > 0; i--) {
    const other = random.integer(i + 1);
    [shuffled[i], shuffled[other]] = [shuffled[other], shuffled[i]];
  }
  const right = shuffled.filter(({ correct }) => correct).length;
  const wrong = shuffled.length - right;
  const rightOnes = Math.min(right, Math.max(Math.floor(count / 2), count - wrong));
  const left = { right: rightOnes, wrong: Math.min(wrong, count - rightOnes) };
  return shuffled.filter(({ correct }) => left[correct ? "right" : "wrong"]-- > 0);
}

/** The solutions as the generator step had them, without the log-probs that no verifier step looks at. */
export function restored(
  generator: Policy<GeneratorTemplate>,
  problems: Problems,
  solutions: readonly PooledSolution[],
  { batchSize, minimumSteps }: { readonly batchSize: number; readonly minimumSteps: number },
): Solution<unknown>[] {
  const { position } = problems;
  const batches = new Map<string, readonly unknown[]>();
  const drawn = ({ step, batch, position }: PooledSolution) => {
    const key = `${step}/${batch}`;
    const known = batches.get(key);
    if (known) return known;
    problems.position = position;
    const made = problems.draw(step, batchSize, batch);
    batches.set(key, made);
    return made;
  };
  try {
    return solutions.map((one) => {
      const tokens = decodeTokens(one.tokens);
      const last = tokens[tokens.length - 1];
      const rollout = {
        sequenceId: 0,
        tokens,
        logProbs: new Float32Array(),
        finished: generator.stopTokens.includes(last),
      };
      const { version, correct } = one;
      const solved = { problem: drawn(one)[one.place], rollout, version, correct };
      return readSolved(generator, problems.source, solved, minimumSteps);
    });
  } finally {
    problems.position = position;
  }
}

/** Each token in four bytes, the lowest first. */
function encodeTokens(tokens: Uint32Array): string {
  const bytes = new DataView(new ArrayBuffer(4 * tokens.length));
  tokens.forEach((token, i) => bytes.setUint32(4 * i, token, true));
  return new Uint8Array(bytes.buffer).toBase64();
}

function decodeTokens(text: string): Uint32Array {
  const bytes = new DataView(Uint8Array.fromBase64(text).buffer);
  return Uint32Array.from({ length: bytes.byteLength / 4 }, (_, i) => bytes.getUint32(4 * i, true));
}

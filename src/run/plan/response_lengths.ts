import { UserError } from "../../base/user_error.ts";
import { RandomStream } from "../../random/philox.ts";

/** How long a policy's responses are, in tokens. */
export interface ResponseLengths {
  readonly mean: number;
  /** Length at which a response is cut off. */
  readonly maximum: number;
}

/**
 * Lengths of a batch of responses with a given mean: the quantiles of a Weibull distribution of shape 2, whose
 * deviation is half its mean and whose tail is what rollouts wait for, cut off at the maximum; in an order that
 * depends on `stream` alone.
 *
 * @throws UserError when no such lengths can be
 */
export function drawLengths(
  { mean, maximum }: ResponseLengths,
  count: number,
  stream: number,
): number[] {
  if (!(mean >= 1 && mean <= maximum)) {
    throw new UserError(
      `Responses of ${mean} tokens on average cannot be: they have at least 1 and at most ${maximum}.`,
    );
  }
  const quantiles = Array.from(
    { length: count },
    (_, i) => Math.sqrt(-Math.log(1 - (i + 0.5) / count)),
  );
  const at = (scale: number) =>
    quantiles.map((q) => Math.min(maximum, Math.max(1, Math.round(scale * q))));
  const meanOf = (lengths: readonly number[]) => lengths.reduce((sum, n) => sum + n, 0) / count;
  // Cutting lowers the mean, so that the scale is searched for.
  let [low, high] = [0, mean];
  while (meanOf(at(high)) < mean && high < 1e4 * maximum) high *= 2;
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2;
    if (meanOf(at(middle)) < mean) low = middle;
    else high = middle;
  }
  return shuffled(at(high), stream);
}

function shuffled(values: readonly number[], stream: number): number[] {
  const random = new RandomStream(0, stream);
  const result = [...values];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random.uniform() * (i + 1));
    [result[i], result[j]] = [result[j], result[i]];
  }
  return result;
}

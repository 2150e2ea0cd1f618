import { mean } from "../../base/statistics.ts";
import { critiqueTokens, type Rewriting } from "../../rl/rewriting.ts";
import type { WeighedSolution } from "../../rl/solution_quality.ts";
import type { Metrics } from "../store/metrics_log.ts";

/**
 * What rewriting has changed, and what it took: tokens are those of a solution, in the mean over all of them, rewritten or
 * not.
 *
 * @param before the solutions as they were first judged
 */
export function rewritingMetrics(
  before: readonly WeighedSolution<unknown>[],
  { solutions, isRewritten, generatorTokens, verifierTokens }: Rewriting<unknown>,
): Metrics {
  const pairs = before.map(({ solution: { correct } }, i) => ({
    ...{ was: correct, is: solutions[i].correct, isRewritten: isRewritten[i] },
  }));
  const share = (of: (pair: typeof pairs[number]) => boolean) =>
    mean(pairs.map((pair) => of(pair) ? 1 : 0));
  const solutionTokens = mean(before.map(({ solution }) => solution.rollout.tokens.length));
  const count = Math.max(1, before.length);
  const written = generatorTokens / count;
  const judged = (critiqueTokens(before) + verifierTokens) / count;
  return {
    "eval/rewriting/accuracy_before": share(({ was }) => was),
    "eval/rewriting/accuracy_after": share(({ is }) => is),
    "eval/rewriting/rewritten": share((pair) => pair.isRewritten),
    "eval/rewriting/righted": share(({ was, is }) => !was && is),
    "eval/rewriting/spoilt": share(({ was, is }) => was && !is),
    "eval/rewriting/generator_tokens": written,
    "eval/rewriting/verifier_tokens": judged,
    // Solutions that as many tokens would have bought instead.
    "eval/rewriting/samples_for_tokens": (written + judged) / solutionTokens,
  };
}

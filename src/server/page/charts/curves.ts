/** The curves that matter, out of some hundred metrics: each answers a question about a run. */

export interface Line {
  readonly metric: string;
  readonly label: string;
  /** Place in the colours of lines: 0 for the generator, 1 for the verifier. */
  readonly colour: number;
}

export interface Curve {
  readonly title: string;
  /** What to look for. */
  readonly hint: string;
  readonly lines: readonly Line[];
  /** Values are shares: drawn in percent. */
  readonly share?: boolean;
  /** A setting, a count or a measurement: each of its points is what matters. */
  readonly noSmoothing?: boolean;
}

const generator = (metric: string, label: string = "generator"): Line => ({
  metric,
  label,
  colour: 0,
});
const verifier = (metric: string, label: string = "verifier"): Line => ({
  metric,
  label,
  colour: 1,
});

const both = (
  name: string,
): Line[] => [generator(`generator/${name}`), verifier(`verifier/${name}`)];

export const CURVES: readonly Curve[] = [
  { title: "Reward", hint: "mean of the step's responses", lines: both("reward") },
  {
    title: "Held-out accuracy",
    hint: "problems that training never draws; the verifier's is balanced",
    share: true,
    noSmoothing: true,
    lines: [
      generator("eval/generator/accuracy"),
      verifier("eval/verifier/balanced_accuracy"),
    ],
  },
  { title: "Loss", hint: "of the policy update", lines: both("policy_loss") },
  { title: "KL from the reference", hint: "how far each has moved", lines: both("kl") },
  { title: "Entropy", hint: "falling to 0: it stopped exploring", lines: both("entropy") },
  { title: "Gradient norm", hint: "spikes come before trouble", lines: both("grad_norm") },
  {
    title: "Response length",
    hint: "tokens; growth without accuracy is reward hacking",
    lines: both("completions/mean_length"),
  },
  {
    title: "Groups that teach nothing",
    hint: "all their responses earned the same",
    share: true,
    lines: both("frac_reward_zero_std"),
  },
  {
    title: "Cut off",
    hint: "responses that reached the longest length",
    share: true,
    lines: both("completions/clipped_ratio"),
  },
  {
    title: "Verifier's judgment",
    hint: "on training solutions",
    share: true,
    lines: [
      { metric: "verifier/balanced_accuracy", label: "balanced accuracy", colour: 1 },
      { metric: "verifier/precision", label: "precision", colour: 2 },
      { metric: "verifier/recall", label: "recall", colour: 3 },
    ],
  },
  {
    title: "Disagreement",
    hint: "verdicts against the truth, and verdicts that cannot be read",
    share: true,
    lines: [
      generator("generator/verdict_disagreement", "disagrees"),
      { metric: "generator/verdict_unparsed", label: "unreadable", colour: 2 },
    ],
  },
  {
    title: "Sampling against training",
    hint: "largest difference of a token's log-prob; 0 is exactly on-policy",
    noSmoothing: true,
    lines: [{ metric: "sampling/logp_difference/max", label: "largest", colour: 2 }],
  },
  {
    title: "Learning rate",
    hint: "as it was in each step",
    noSmoothing: true,
    lines: both("learning_rate"),
  },
  {
    title: "Tokens per second",
    hint: "trained on",
    lines: [{ metric: "perf/tokens_per_second", label: "tokens/s", colour: 2 }],
  },
  {
    title: "Loss of fine-tuning",
    hint: "mean of a token",
    lines: [
      { metric: "sft/loss", label: "training", colour: 0 },
      { metric: "eval/loss", label: "held out", colour: 1 },
    ],
  },
];

/**
 * The curves that a run has anything to show in, and one more by name.
 *
 * @param names of all its metrics
 * @param more a metric; "" for none
 */
export function curvesOf(names: readonly string[], more: string): Curve[] {
  const has = new Set(names);
  const shown = CURVES.flatMap((curve) => {
    const lines = curve.lines.filter(({ metric }) => has.has(metric));
    return lines.length === 0 ? [] : [{ ...curve, lines }];
  });
  if (!has.has(more)) return shown;
  return [{ title: more, hint: "", lines: [{ metric: more, label: more, colour: 2 }] }, ...shown];
}

/** The curves of one policy, each with the first of its lines: where colours say which run it is. */
export function armCurves(curves: readonly Curve[], policy: "generator" | "verifier"): Curve[] {
  return curves.flatMap((curve) => {
    const ofPolicy = curve.lines.filter(({ metric }) =>
      /^(eval\/)?verifier\//.test(metric) === (policy === "verifier")
    );
    return ofPolicy.length === 0 ? [] : [{ ...curve, lines: ofPolicy.slice(0, 1) }];
  });
}

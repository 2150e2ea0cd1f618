/** The curves that matter, out of some hundred metrics: each answers a question about a run. */

export type CurvePolicy = "generator" | "verifier";

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

const line = (colour: number, metric: string, label: string): Line => ({ metric, label, colour });

const both = (name: string) => [
  line(0, `generator/${name}`, "generator"),
  line(1, `verifier/${name}`, "verifier"),
];

export const CURVES: readonly Curve[] = [
  { title: "Reward", hint: "mean of the step's responses", lines: both("reward") },
  {
    title: "Held-out accuracy",
    hint: "problems that training never draws; the verifier's are balanced",
    share: true,
    noSmoothing: true,
    lines: [
      line(0, "eval/generator/accuracy", "generator"),
      line(1, "eval/verifier/balanced_accuracy", "verifier"),
      line(2, "eval/verifier/step_balanced_accuracy", "step judgments"),
    ],
  },
  {
    title: "Step judgments",
    hint: "held out: whether the verifier knows which step is wrong; AUROC of 50 % is chance",
    share: true,
    noSmoothing: true,
    lines: [
      line(2, "eval/verifier/step_auroc_in_wrong", "AUROC in wrong solutions"),
      line(1, "eval/verifier/step_f1_score", "F1"),
      line(3, "eval/verifier/first_error_accuracy", "first wrong step found"),
    ],
  },
  {
    title: "Critiques",
    hint:
      "held out: verdicts that follow from their steps; own results beside wrong claims and right ones",
    share: true,
    noSmoothing: true,
    lines: [
      line(1, "eval/verifier/verdict_is_conjunction", "consistent"),
      line(2, "eval/verifier/own_result_differs", "differ from wrong claims"),
      line(0, "eval/verifier/own_result_agrees", "agree with right ones"),
    ],
  },
  {
    title: "Credit for steps",
    hint: "α, and where it is earned what it goes by: how far all-steps-right agrees with answers",
    share: true,
    lines: [
      line(0, "generator/alpha", "α"),
      line(1, "advantage/judgment_quality", "judgments"),
    ],
  },
  {
    title: "Habits",
    hint: "what rewards for steps invite to; any that rises is a hack",
    share: true,
    lines: [
      line(0, "generator/frac_more_steps", "more steps than needed"),
      line(1, "generator/frac_empty_steps", "empty steps"),
      line(2, "generator/frac_repeated_steps", "repeated steps"),
      line(3, "generator/frac_trailing_text", "goes on after the answer"),
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
    title: "Groups whose outcomes teach nothing",
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
      line(1, "verifier/balanced_accuracy", "balanced accuracy"),
      line(2, "verifier/precision", "precision"),
      line(3, "verifier/recall", "recall"),
    ],
  },
  {
    title: "Disagreement",
    hint: "verdicts against the truth, and verdicts that cannot be read",
    share: true,
    lines: [
      line(0, "generator/verdict_disagreement", "disagrees"),
      line(2, "generator/verdict_unparsed", "unreadable"),
    ],
  },
  {
    title: "Sampling against training",
    hint: "largest difference of a token's log-prob; 0 is exactly on-policy",
    noSmoothing: true,
    lines: [line(2, "sampling/logp_difference/max", "largest")],
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
    lines: [line(2, "perf/tokens_per_second", "tokens/s")],
  },
  {
    title: "Loss of fine-tuning",
    hint: "mean of a token, or of a pair of responses",
    lines: [
      line(0, "sft/loss", "training"),
      line(1, "eval/loss", "held out"),
    ],
  },
  {
    title: "Pairs told apart",
    hint: "share whose better response has the higher reward",
    share: true,
    lines: [
      line(0, "sft/preference_accuracy", "training"),
      line(1, "eval/preference_accuracy", "held out"),
    ],
  },
  {
    title: "Margin of pairs",
    hint: "mean reward of the better response less that of the worse one",
    lines: [
      line(0, "sft/preference_margin", "training"),
      line(1, "eval/preference_margin", "held out"),
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
  return [{ title: more, hint: "", lines: [line(2, more, more)] }, ...shown];
}

/** The curves of one policy, each with the first of its lines: where colours say which run it is. */
export function armCurves(curves: readonly Curve[], policy: CurvePolicy): Curve[] {
  return curves.flatMap((curve) => {
    const ofPolicy = curve.lines.filter(({ metric }) =>
      /^(eval\/)?verifier\//.test(metric) === (policy === "verifier")
    );
    return ofPolicy.length === 0 ? [] : [{ ...curve, lines: ofPolicy.slice(0, 1) }];
  });
}

/** Names of the metrics that more than one part of the program reads; the others are only logged. */
export const METRIC = {
  /** Held-out problems, each answered once or more. */
  evaluatedProblems: "eval/problems",
  /** Share of held-out problems that the generator answers right, 0 to 1. */
  generatorAccuracy: "eval/generator/accuracy",
  /** Share of held-out problems that it answers right without a wrong step; where the task can tell. */
  generatorSoundAccuracy: "eval/generator/sound_accuracy",
  /** Share of fresh solutions that the verifier judges right, 0 to 1. */
  verifierAccuracy: "eval/verifier/accuracy",
  /** Mean of the verifier's accuracy on right and on wrong solutions, 0 to 1. */
  verifierBalancedAccuracy: "eval/verifier/balanced_accuracy",
  /** Share of steps of fresh solutions that the verifier judges right, 0 to 1; where the task can tell. */
  verifierStepAccuracy: "eval/verifier/step_accuracy",
  /** Mean of the step accuracy on right and on wrong steps. */
  verifierStepBalancedAccuracy: "eval/verifier/step_balanced_accuracy",
  /** How well step judgments tell wrong steps of wrong solutions from right ones: area under the ROC curve. */
  verifierStepAurocInWrong: "eval/verifier/step_auroc_in_wrong",
  /** What that would be by the place of the steps alone. */
  verifierStepAurocByPlace: "eval/verifier/step_auroc_in_wrong_by_place",
  /** Harmonic mean of the next one and of the share of solutions without a wrong step that are found so. */
  verifierStepF1: "eval/verifier/step_f1_score",
  /** Share of the solutions with a wrong step whose first one is the first called wrong. */
  verifierFirstError: "eval/verifier/first_error_accuracy",
  /** Share of the wrong steps at which the critique's own result is not what the step claims. */
  verifierOwnResultDiffers: "eval/verifier/own_result_differs",
  /** Share of the right steps at which it is. */
  verifierOwnResultAgrees: "eval/verifier/own_result_agrees",
  /** Share of critiques whose verdict is what their step judgments say together. */
  verifierConsistency: "eval/verifier/verdict_is_conjunction",
  /** Before reinforcement learning: problems, pass@1, pass@8 and the share of problems with both right and wrong samples, of 8 each. */
  startProblems: "eval/start/problems",
  startPassAt1: "eval/start/pass_at_1",
  startPassAt8: "eval/start/pass_at_8",
  startMixed: "eval/start/frac_mixed_groups",
  /** How well the mean P(CORRECT) of critiques tells wrong solutions from right ones: area under the ROC curve. */
  qualityAuroc: "eval/verifier/quality_auroc",
  /** F1 of the verdict "CORRECT", 0 to 1. */
  verifierF1: "eval/verifier/f1_score",
  /** Mean loss of a token in supervised fine-tuning; of a pair of responses where there are preferences. */
  supervisedLoss: "sft/loss",
  /** Share of an update's pairs whose better response is told by its reward, before it; 0 to 1. */
  preferenceAccuracy: "sft/preference_accuracy",
  /** Mean reward of its better responses less that of the worse ones. */
  preferenceMargin: "sft/preference_margin",
  /** The same two of held-out pairs. */
  heldOutPreferenceAccuracy: "eval/preference_accuracy",
  heldOutPreferenceMargin: "eval/preference_margin",
  /** The loss on held-out examples. */
  heldOutLoss: "eval/loss",
  /** Share of validation problems that the generator answers right, 0 to 1: what `keep_best` goes by. */
  validationAccuracy: "validation/generator/accuracy",
  /** Balanced accuracy of the verifier on validation solutions, by which fine-tuning chooses it. */
  validationBalancedAccuracy: "validation/verifier/balanced_accuracy",
  /** Mean loss of a token on validation examples, by which fine-tuning on files chooses either policy. */
  validationLoss: "validation/loss",
  generatorReward: "generator/reward",
  verifierReward: "verifier/reward",
  /** Weight of the process advantage. */
  alpha: "generator/alpha",
  /** Mean tokens in a response. */
  generatorLength: "generator/completions/mean_length",
  verifierLength: "verifier/completions/mean_length",
  /** Mean number of steps in a solution. */
  generatorSteps: "generator/mean_steps",
  /** Share of solutions with more, and with fewer steps than the task, or else their group, says that the problem needs. */
  moreSteps: "generator/frac_more_steps",
  fewerSteps: "generator/frac_fewer_steps",
  /** Share of steps without a letter or digit. */
  emptySteps: "generator/frac_empty_steps",
  /** Share of steps that repeat the question or an earlier step. */
  repeatedSteps: "generator/frac_repeated_steps",
  /** Share of solutions that go on after their first answer. */
  trailingText: "generator/frac_trailing_text",
  /** Mean tokens in a step. */
  stepTokens: "generator/step_tokens",
  /** Moving balanced accuracy of "every step is CORRECT" about outcomes, 0 to 1. */
  judgmentQuality: "advantage/judgment_quality",
  /** Largest |log-prob while sampling − log-prob while training| over the step's tokens. */
  logProbDifference: "sampling/logp_difference/max",
  /** Tokens trained on per second (timings.jsonl). */
  tokensPerSecond: "perf/tokens_per_second",
  /** Seconds that a step took (timings.jsonl). */
  stepSeconds: "perf/step_seconds",
} as const;

/** Before a setting's key in the line of the first step that a changed setting holds in. */
export const CHANGED = "set/";

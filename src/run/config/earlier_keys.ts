/** Keys that earlier versions had, by what they are called now; files and run folders still name them. */
export const earlierKeys: Readonly<Record<string, string>> = {
  evaluate_every: "schedule.test_frequency",
  save_every: "schedule.save_frequency",
  steps: "schedule.total_training_steps",
  generator_prompt_template: "prompt_template",
  verifier_prompt_template: "prompt_template",
  verifier_labels: "judgment_labels",
  "evaluation.max_response_length": "max_response_length",
};

import { tinyArchitecture } from "../run/tiny_architecture.ts";

/**
 * The configuration of a fine-tuning whose steps take milliseconds, and of which there are more than a test waits for.
 *
 * @param checkpointEvery steps
 */
export function endlessRun(checkpointEvery: number) {
  return {
    policy: "generator",
    architecture: tinyArchitecture,
    batch_size: 2,
    schedule: {
      test_frequency: 1_000_000,
      save_frequency: checkpointEvery,
      total_training_steps: 1_000_000,
    },
    max_response_length: 10,
    evaluation: { problems: 2 },
    tuning: "default",
  };
}

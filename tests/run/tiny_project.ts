import { join } from "node:path";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { stringify } from "yaml";
import { tinyArchitecture } from "./tiny_architecture.ts";

/** Models small enough for a run of a second, and configurations for them, in a folder of their own. */
export interface TinyProject {
  readonly folder: string;
  readonly generator: string;
  readonly verifier: string;
  /** A configuration of 3 generator and 2 verifier steps. */
  readonly config: string;
  /** A configuration that fine-tunes a generator in 2 updates. */
  readonly sftConfig: string;
}

/** Makes the project, runs `body` with it, and removes it. */
export async function withTinyProject(
  gpu: Gpu,
  body: (project: TinyProject) => Promise<void>,
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  const project: TinyProject = {
    folder,
    generator: join(folder, "generator"),
    verifier: join(folder, "verifier"),
    config: join(folder, "tango.yaml"),
    sftConfig: join(folder, "sft.yaml"),
  };
  try {
    for (const policy of ["generator", "verifier"] as const) {
      const seed = policy === "generator" ? 1 : 2;
      const run = await SftRun.open(
        gpu,
        sftConfigSchema.parse({ policy, seed, architecture: tinyArchitecture }),
      );
      await run.save(project[policy]);
      run.close();
    }
    Deno.writeTextFileSync(
      project.config,
      stringify({
        generator: { model: project.generator, max_response_length: 10 },
        verifier: { model: project.verifier, max_response_length: 10 },
        rollout: { batch_size: 2, group_size: 2 },
        schedule: { total_training_steps: 5, generator_steps: 1, test_frequency: 2 },
        evaluation: { problems: 4 },
        tuning: "default",
      }),
    );
    Deno.writeTextFileSync(
      project.sftConfig,
      stringify({
        policy: "generator",
        architecture: tinyArchitecture,
        batch_size: 2,
        schedule: { total_training_steps: 2, test_frequency: 1 },
        max_response_length: 10,
        evaluation: { problems: 2 },
        tuning: "default",
      }),
    );
    await body(project);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

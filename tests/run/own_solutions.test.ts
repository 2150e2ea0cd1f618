/** A verifier's fine-tuning judges a generator's own wrong solutions, besides made-up ones. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { UserError } from "../../src/base/user_error.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { openModelSource } from "../../src/model/weights/model_source.ts";
import { planSftMemory } from "../../src/run/memory/sft_memory_plan.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { tinyData } from "./tiny_data.ts";
import { tinyPolicies } from "./tiny_policies.ts";

const PROBLEMS = 12;

onEveryGpu(
  "own solutions: what a generator gets wrong is judged, the same in every run",
  async (gpu) => {
    const folder = Deno.makeTempDirSync();
    try {
      const path = join(folder, "train.jsonl");
      Deno.writeTextFileSync(path, tinyData(40));
      const columns = {
        ...{ question: "question", answer: "answer", solution_steps: "steps", comparison: "text" },
      };
      const configuration = (own: object | null, others: object = {}) =>
        sftConfigSchema.parse({
          policy: "verifier",
          initial_model: tinyPolicies.verifier,
          data: { train: [{ path, columns }] },
          critiques: "worked",
          correct_share: 0,
          own_solutions: own,
          ...others,
        });
      const asked = {
        ...{
          model: tinyPolicies.generator,
          problems: PROBLEMS,
          samples: 4,
          max_response_length: 40,
        },
      };
      /** The prompts of the first problems, and what is said of the data. */
      using source = await openModelSource(tinyPolicies.verifier);
      const tokenizer = source.tokenizer();
      const drawn = async (config: ReturnType<typeof configuration>) => {
        const run = await SftRun.open(gpu, config);
        try {
          const prompts = run.examples.draw(1, PROBLEMS).map(({ prompt }) =>
            tokenizer.decode(prompt)
          );
          return { prompts, report: run.dataReport ?? "" };
        } finally {
          run.close();
        }
      };
      const without = await drawn(configuration(null));
      const first = await drawn(configuration(asked));
      const [, wrong] = /^(\d+) of the first 12 problems have a wrong solution of /m
        .exec(first.report) ?? assert.fail(first.report);
      const changed = first.prompts.filter((prompt, i) => prompt !== without.prompts[i]);
      assert.ok(
        changed.length > 0 && changed.length <= Number(wrong),
        `${changed.length} of ${wrong}`,
      );
      assert.deepEqual(await drawn(configuration(asked)), first);
      assert.ok(!without.report.includes("wrong solution"));

      const { phases } = await planSftMemory(gpu, configuration(asked));
      const sampling = phases.find(({ what }) => what === "sampling solutions to judge");
      assert.ok(sampling && sampling.bytes > 0);
      await assert.rejects(
        SftRun.open(gpu, configuration({ ...asked, max_response_length: 100_000 })),
        (error) => error instanceof UserError && /own_solutions: the question/.test(error.message),
      );
      assert.throws(
        () => configuration(asked, { critiques: "judgments" }),
        /critiques of a generator's own mistakes are worked ones/,
      );
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

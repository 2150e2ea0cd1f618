/** `deno task docs`: writes the pages of docs/ that are made from the program itself, and from results. */

import type { Command } from "commander";
import { join } from "node:path";
import { writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { configurationPage } from "../../run/config/configuration_page.ts";
import { addExamples } from "../examples.ts";
import { PROJECT_FOLDER } from "./project.ts";
import { drawComparisons } from "./results/comparison_pictures.ts";
import { collectRuns } from "./results/collect_runs.ts";
import { RESULTS_PAGE, resultsPage } from "./results/results_page.ts";

/** Where the configuration's page lies. */
export const CONFIGURATION_PAGE: string = join(PROJECT_FOLDER, "docs/configuration.md");

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("docs")
    .description(
      "Writes docs/configuration.md from the configuration's schemas, and the tables of docs/results.md and the " +
        "comparisons' curves from bench/results.",
    )
    .option(
      "--runs <folder...>",
      "first takes the evaluations of these finished default runs into bench/results/chains, in the place of those there",
    )
    .action(({ runs = [] }: { readonly runs?: readonly string[] }) => {
      if (runs.length > 0) collectRuns(runs);
      drawComparisons();
      writeFileAtomically(CONFIGURATION_PAGE, configurationPage());
      writeFileAtomically(RESULTS_PAGE, resultsPage());
      console.log(`${CONFIGURATION_PAGE}\n${RESULTS_PAGE}`);
    });
  addExamples(command, {
    "deno task docs": "after a change of the schemas, or of what lies in bench/results",
    "deno task docs --runs runs/chains-001 runs/chains-002":
      "the default run's evaluations from these, seed by seed",
  });
}

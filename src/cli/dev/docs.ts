/** `deno task docs`: writes the pages of docs/ that are made from the program itself. */

import type { Command } from "commander";
import { join } from "node:path";
import { writeFileAtomically } from "../../base/atomic_file.ts";
import { configurationPage } from "../../run/config/configuration_page.ts";
import { addExamples } from "../examples.ts";
import { PROJECT_FOLDER } from "./project.ts";

/** Where the configuration's page lies. */
export const CONFIGURATION_PAGE: string = join(PROJECT_FOLDER, "docs/configuration.md");

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("docs")
    .description("Writes docs/configuration.md from the configuration's schemas.")
    .action(() => {
      writeFileAtomically(CONFIGURATION_PAGE, configurationPage());
      console.log(CONFIGURATION_PAGE);
    });
  addExamples(command, { "deno task docs": "after a change of the schemas" });
}

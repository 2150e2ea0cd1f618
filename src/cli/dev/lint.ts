/** `deno task lint`: everything about the source that can be checked without running it. */

import type { Command } from "commander";
import { runDenoTool } from "./deno_tool.ts";
import { addExamples } from "../examples.ts";
import { PROJECT_FOLDER } from "./project.ts";
import { findRoomViolations } from "./room_rule.ts";

/** Where TypeScript lies; `deno check` without folders would also read what runs leave behind. */
const CHECKED_FOLDERS = ["src", "tests", "bench", "examples"];

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("lint")
    .description(
      "Checks lint rules, formatting, types, and that each folder imports only earlier ones.",
    )
    .action(lint);
  addExamples(command, { "deno task lint": "prints what is wrong; exit code 1 when anything is" });
}

async function lint(): Promise<void> {
  const results = [
    await runDenoTool(["lint", "--quiet"]) === 0,
    await runDenoTool(["fmt", "--check"]) === 0,
    await runDenoTool(["check", "--quiet", ...CHECKED_FOLDERS]) === 0,
    checkRooms(),
  ];
  if (results.includes(false)) Deno.exitCode = 1;
  else console.log("No problems found.");
}

function checkRooms(): boolean {
  const violations = findRoomViolations(PROJECT_FOLDER);
  for (const { file, line, message } of violations) console.error(`${file}:${line}: ${message}`);
  return violations.length === 0;
}

/** `deno task diff`: where two runs part, and why. */

import type { Command } from "commander";
import { recordName } from "../run/audit/record_name.ts";
import { type RunDifference, runDifference } from "../run/difference/run_difference.ts";
import type { TextDifference } from "../run/difference/samples_difference.ts";
import { RunFolder } from "../run/store/run_folder.ts";
import { addExamples } from "./examples.ts";
import { EXIT } from "./program.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("diff")
    .description(
      "Says where two runs part: the first step, part of it, text, token and weight that is not the same, and what the " +
        "runs went by that was not.",
    )
    .argument("<a>", "a run's folder")
    .argument("<b>", "another's")
    .option("--json", "prints JSON")
    .action(diff);
  addExamples(command, {
    "deno task diff runs/chains-001 runs/chains-002": "why their numbers differ",
  });
}

async function diff(
  first: string,
  second: string,
  { json }: { readonly json?: boolean },
): Promise<void> {
  const [a, b] = [first, second].map((path) => RunFolder.open(path));
  const found = await runDifference({ a, b });
  if (json) console.log(JSON.stringify(found, null, 2));
  else for (const line of describe(found)) console.log(line);
  if (found.parting !== null) Deno.exitCode = EXIT.failure;
}

function describe(found: RunDifference): string[] {
  const { parting, text, weights, lastStep } = found;
  const causes = causesOf(found);
  return [
    ...(causes.length > 0 ? ["What they went by differs in", ...causes.map((one) => `  ${one}`)] : [
      "What they went by is the same: settings, files, device, driver, engine, kernels, ranks.",
    ]),
    "",
    ...(parting === null
      ? [`Up to step ${lastStep} every record is the same.`]
      : [describeParting(found)]),
    ...(text === null ? [] : [
      `Sample ${text.sample} of it, the ${text.of}${
        text.token === null ? "" : `, token ${text.token}`
      }:`,
      ...[text.a, text.b].map((one) => `  ${JSON.stringify(excerpt(one, text))}`),
    ]),
    ...(weights === null ? [] : [
      `Weights of the ${weights.model} in the checkpoint of step ${weights.step}: ${weights.tensor}, element ` +
      `${weights.element}: ${weights.a} and ${weights.b}; ${weights.count} of its ${weights.size} elements differ.`,
    ]),
  ];
}

/** Characters of a text that are shown before what differs, and in all. */
const BEFORE = 16, SHOWN = 48;

function excerpt({ text }: TextDifference["a"], { begin }: TextDifference): string {
  const from = Math.max(0, begin - BEFORE);
  const shown = text.slice(from, from + SHOWN).toWellFormed();
  return `${from > 0 ? "…" : ""}${shown}${text.length > from + SHOWN ? "…" : ""}`;
}

/** What may be why, each in a line. */
function causesOf({ settings, inputs, surroundings }: RunDifference): string[] {
  const said = (value: unknown) => value === undefined ? "not said" : JSON.stringify(value);
  return [
    ...settings.map(({ key, step, a, b }) =>
      `setting ${key}${step === 0 ? "" : `, changed from step ${step} on`}: ${said(a)} and ${
        said(b)
      }`
    ),
    ...inputs.map(({ key, a, b, line }) => {
      const paths = a === b ? `${a}, which has changed in between` : `${a} and ${b}`;
      return `${key}: ${paths}${line === null ? "" : `, from line ${line} on`}`;
    }),
    ...surroundings.map(({ what, a, b, isVisible }) =>
      `${what}: ${a} and ${b}${isVisible ? "" : " (shows in no bit)"}`
    ),
  ];
}

function describeParting({ parting, lastStep }: RunDifference): string {
  if (parting === null) return "";
  const { record, part, same } = parting;
  if (part === null) return `They part at ${recordName(record)}, which only one of them has made.`;
  const before = same.length === 0 ? "" : ` (the same before it: ${same.join(", ")})`;
  return `They part at ${recordName(record)} of ${lastStep}, first in ${part}${before}.`;
}

import { parse } from "yaml";
import { z } from "zod";
import { UserError } from "../../base/user_error.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import { changeableSftKeys, changeableTangoKeys } from "../../run/config/changeable.ts";
import type { ConfigChange } from "../../run/control/config_history.ts";
import { readJsonLines } from "../../run/store/json_lines_log.ts";
import type { ListedRun } from "./run_list.ts";

const valueSchema = z.union([z.string(), z.number(), z.boolean(), z.null()]);
/** A value that a setting has. */
type Value = z.infer<typeof valueSchema>;

/** What holds in a run at present, and how that came about. */
export const configurationSchema = z.object({
  configuration: z.record(z.string(), z.unknown()),
  changeable: z.record(z.string(), valueSchema).describe(
    "What can change, with the value in force.",
  ),
  changes: z.array(
    z.object({
      step: z.int().describe("The first that it holds in."),
      settings: z.record(z.string(), z.union([z.string(), z.number()])),
      before: z.record(z.string(), valueSchema).describe("What the same keys were."),
    }),
  ),
});
export type ConfigurationInForce = z.infer<typeof configurationSchema>;

/** Reads the configuration of a run: what it began with, changed by what its history has. */
export function configurationInForce(
  { folder, kind, comparison }: ListedRun,
): ConfigurationInForce {
  const configuration: unknown = parse(Deno.readTextFileSync(folder.configuration));
  if (!isSection(configuration)) {
    throw new UserError(`${folder.configuration} is damaged: it is no mapping of keys.`);
  }
  const history = exists(folder.history) ? readJsonLines<ConfigChange>(folder.history) : [];
  const changes = history.map(({ step, settings }) => ({
    step,
    settings,
    before: Object.fromEntries(
      Object.entries(settings).map(([key, value]) => [key, replace(configuration, key, value)]),
    ),
  }));
  // All runs of a comparison have one configuration.
  const keys = kind === "compare" || comparison !== null
    ? []
    : kind === "sft"
    ? changeableSftKeys
    : changeableTangoKeys;
  const changeable = Object.fromEntries(keys.flatMap((key) => {
    const [section, name] = sectionOf(configuration, key);
    const value = section?.[name];
    return isPlain(value) ? [[key, value]] : [];
  }));
  return { configuration, changeable, changes };
}

type Section = Record<string, unknown>;

/** Where a key with dots lies; null where there is no such section. */
function sectionOf(configuration: Section, key: string): [section: Section | null, name: string] {
  const names = key.split(".");
  const name = names.pop() ?? key;
  let section: unknown = configuration;
  for (const one of names) section = isSection(section) ? section[one] : null;
  return [isSection(section) ? section : null, name];
}

/** @returns what it was before; null where it was not said */
function replace(configuration: Section, key: string, value: Value): Value {
  const [section, name] = sectionOf(configuration, key);
  if (section === null) return null;
  const before = section[name];
  section[name] = value;
  return isPlain(before) ? before : null;
}

function isSection(value: unknown): value is Section {
  return typeof value === "object" && value !== null;
}

function isPlain(value: unknown): value is Value {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

/** `docs/configuration.md`, written from the schemas, so that it cannot say anything else than they do. */

import { z } from "zod";
import { tangoConfigSchema } from "./config_schema.ts";
import { teacherConfigSchema } from "./teacher_schema.ts";
import { sftConfigSchema } from "./sft_config_schema.ts";
import { suiteSchema } from "./suite_schema.ts";

/** A schema without its defaults and the like, and what those said. */
interface Field {
  readonly inner: z.core.$ZodTypes;
  readonly description: string | null;
  readonly isNullable: boolean;
  /** How the page shows what holds when the key is left out. */
  readonly fallback: string;
}

interface Section {
  /** Path of keys; "" for the whole file. */
  readonly path: string;
  readonly description: string | null;
  readonly rows: readonly (readonly string[])[];
}

/** The whole page, in Markdown. */
export function configurationPage(): string {
  return `# Configuration

Written from the schemas by \`./tango docs\`; a test holds it to them.

A configuration is a YAML file, checked before anything starts: an unknown key, a wrong type or an
impossible value is one message with the place and the nearest valid key. \`--set key.path=value\`
changes a key from the command line. \`./tango train\` reads a [training](#training) file, \`./tango sft\`
a [fine-tuning](#fine-tuning) file, \`./tango generate\` a [teaching](#teaching) file, \`./tango benchmarks\`
one of [benchmarks](#benchmarks).

## Training

${sections(tangoConfigSchema, "")}
## Fine-tuning

${sections(sftConfigSchema, " in fine-tuning")}
## Teaching

${sections(teacherConfigSchema, " in teaching")}
## Benchmarks

${sections(suiteSchema, " in a suite")}`;
}

/** @param suffix what tells headings from those of the other schema */
function sections(schema: z.core.$ZodType, suffix: string): string {
  const found: Section[] = [];
  collect(schema, "", suffix, new Map(), found);
  return found.map(({ path, description, rows }) =>
    (path === "" ? "" : `### ${code(path)}${suffix}\n\n`) +
    (description === null ? "" : `${description}\n\n`) +
    table([["key", "default", "takes", "meaning"], ...rows]) + "\n"
  ).join("");
}

/** Adds a section and those inside it. */
function collect(
  schema: z.core.$ZodType,
  path: string,
  suffix: string,
  /** Path at which each section was shown first: a section that occurs twice is shown once. */
  shown: Map<z.core.$ZodType, string>,
  found: Section[],
): void {
  const { inner, description } = fieldOf(schema);
  const object = sectionOf(inner);
  if (object === null) throw new Error(`${path} is no section`);
  const rows: string[][] = [];
  const below: [string, z.core.$ZodType][] = [];
  for (const [key, value] of Object.entries(object._zod.def.shape)) {
    const field = fieldOf(value);
    const section = sectionOf(field.inner);
    const name = path === "" ? key : `${path}.${key}`;
    const earlier = section && shown.get(section);
    const isList = field.inner._zod.def.type === "array";
    if (earlier) {
      rows.push([
        code(key),
        field.fallback,
        `as ${link(earlier, suffix)}`,
        field.description ?? "",
      ]);
      continue;
    }
    if (section) {
      const place = isList ? `${name}[]` : name;
      shown.set(section, place);
      below.push([place, section]);
      const takes = isList ? `a list of ${link(place, suffix)}` : link(place, suffix);
      rows.push([
        code(key),
        field.fallback,
        takes + (field.isNullable ? " or null" : ""),
        field.description ?? "",
      ]);
      continue;
    }
    if (field.description === null) throw new Error(`${name} has no description`);
    rows.push([code(key), field.fallback, takenBy(field), field.description]);
  }
  found.push({ path, description: path === "" ? null : description, rows });
  for (const [name, section] of below) collect(section, name, suffix, shown, found);
}

/** The section that a schema is, or that its list's items are. */
function sectionOf(inner: z.core.$ZodTypes): z.core.$ZodObject | null {
  if (inner._zod.def.type === "object") return inner as z.core.$ZodObject;
  if (inner._zod.def.type !== "array") return null;
  const element = fieldOf(inner._zod.def.element).inner;
  return element._zod.def.type === "object" ? element as z.core.$ZodObject : null;
}

function fieldOf(schema: z.core.$ZodType): Field {
  let current = schema as z.core.$ZodTypes;
  let description: string | null = null;
  let isNullable = false;
  let fallback: string | null = null;
  for (;;) {
    description ??= z.globalRegistry.get(current)?.description ?? null;
    const { def } = current._zod;
    if (def.type === "nullable") isNullable = true;
    if (def.type === "optional") fallback ??= "–";
    if (def.type === "default" || def.type === "prefault") {
      const value = def.defaultValue;
      const isSection = typeof value === "object" && value !== null && !Array.isArray(value);
      fallback ??= isSection ? "" : code(brief(value));
    }
    if (!("innerType" in def)) break;
    current = def.innerType as z.core.$ZodTypes;
  }
  return { inner: current, description, isNullable, fallback: fallback ?? "required" };
}

/** Allowed values, in the words of the message about one that is not. */
function takenBy({ inner, isNullable }: Field): string {
  const { error } = z.safeParse(inner, undefined);
  const [issue] = error?.issues ?? [];
  const words = issue?.message ?? inner._zod.def.type;
  return isNullable && !/\bnull\b/.test(words) ? `${words}, or null` : words;
}

function brief(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(brief).join(", ")}]`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

const code = (text: string) => `\`${text}\``;

/** A link to a section's heading, by the name that GitHub gives it. */
const link = (path: string, suffix: string) =>
  `[${code(path)}](#${(path + suffix).toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-")})`;

function table(rows: readonly (readonly string[])[]): string {
  const [head, ...body] = rows;
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + body.map(line).join("");
}

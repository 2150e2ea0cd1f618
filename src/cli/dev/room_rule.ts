/**
 * The room rule: `src` is a row of rooms, and a file imports only from its own room and from those that
 * come before it; so do the rooms inside a room. Data flows one way, and each room can be
 * understood without the later ones.
 */

import { dirname, join, normalize, relative } from "node:path";

/** The rooms in order. */
export const ROOMS = [
  "base",
  "platform",
  "random",
  "gpu",
  "kernels",
  "model",
  "engine",
  "distributed",
  "grading",
  "data",
  "rl",
  "hub",
  "run",
  "server",
  "client",
  "tab",
  "cli",
] as const;

/** Rooms that may import less than the order allows. */
const NARROWER: Readonly<Record<string, readonly string[]>> = {
  random: ["base"],
  grading: ["base"],
  data: ["base", "platform", "random", "grading"],
  hub: ["base", "platform", "model", "data"],
};

/** Folders that know no system: what they need of Deno or node they take from `platform/system`. */
const SYSTEMLESS: readonly string[] = [
  ...["base", "random", "gpu", "kernels", "model", "engine", "rl", "platform/files"],
  ...["config", "problems", "store", "events", "record", "trace", "report", "health", "loop"]
    .map((inner) => `run/${inner}`),
  ...["answers", "tango", "sft", "tuning", "memory", "session"].map((inner) => `run/${inner}`),
];

/** The rooms inside a room, in order; files beside them may import from all of them. */
const INNER: Readonly<Record<string, readonly string[]>> = {
  platform: ["system", "files", "process", "gpus"],
  kernels: [
    "parts",
    "products",
    "layers",
    "attention",
    "convolution",
    "delta",
    "experts",
    "losses",
    "sampling",
    "walk",
    "optimizer",
    "choice",
  ],
  model: ["decoder", "tokenizer", "weights"],
  engine: ["sampling", "training"],
  grading: ["text", "python", "values"],
  rl: ["text", "reward", "advantage", "schedule", "update", "measures"],
  run: [
    "config",
    "problems",
    "store",
    "events",
    "record",
    "trace",
    "report",
    "control",
    "health",
    "loop",
    "answers",
    "tango",
    "teacher",
    "benchmarks",
    "sft",
    "tuning",
    "memory",
    "audit",
    "difference",
    "session",
    "plan",
    "compare",
    "bank",
  ],
  server: [
    "index",
    "http",
    "runs",
    "launches",
    "differences",
    "models",
    "datasets",
    "benchmarks",
    "serving",
    "openai",
    "routes",
    "tinker",
    "page",
  ],
};

/** An import that the rule forbids. */
export interface RoomViolation {
  /** Path from the project's folder. */
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** One import statement or expression. */
export interface ImportStatement {
  readonly specifier: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Checks all TypeScript files under `src` of a project. */
export function findRoomViolations(projectFolder: string): RoomViolation[] {
  return typeScriptFiles(join(projectFolder, "src")).sort().flatMap((path) =>
    checkFile(relative(projectFolder, path), Deno.readTextFileSync(path))
  );
}

/**
 * Checks one file's imports.
 *
 * @param file path from the project's folder, such as `src/rl/reward/rewards.ts`
 */
export function checkFile(file: string, source: string): RoomViolation[] {
  const room = roomOf(file);
  const imports = listImports(source)
    .filter(({ specifier }) => specifier.startsWith("."))
    .flatMap(({ specifier, line }) => {
      const target = normalize(join(dirname(file), specifier));
      const message = explainViolation(room, target) ?? explainInner(file, target);
      return message === null ? [] : [{ file, line, message }];
    });
  const systemless = SYSTEMLESS.find((folder) => file.startsWith(`src/${folder}/`));
  return systemless === undefined ? imports : [...imports, ...systemsIn(file, systemless, source)];
}

/** Where a file of a folder that knows no system asks one. */
function systemsIn(file: string, folder: string, source: string): RoomViolation[] {
  return source.split("\n").flatMap((text, index) => {
    const isComment = /^\s*(\*|\/\/|\/\*)/.test(text);
    const found = isComment
      ? null
      : /\bDeno\.\w+|["']node:[\w/]+["']/.exec(text.replace(/\/\/.*/, ""));
    if (found === null) return [];
    const message = `src/${folder} may not use ${
      found[0]
    }: what knows Deno or node lies in src/platform`;
    return [{ file, line: index + 1, message }];
  });
}

/** The static and dynamic imports and re-exports of a formatted source file. */
export function listImports(source: string): ImportStatement[] {
  const clause = String.raw`(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\w+|(?:\w+\s*,\s*)?\{[^}]*\})`;
  const pattern = new RegExp(
    String.raw`^(?:import|export)\s+${clause}\s+from\s+["']([^"']+)["']` +
      String.raw`|^import\s+["']([^"']+)["']` +
      String.raw`|\bimport\(\s*["']([^"']+)["']`,
    "gm",
  );
  return [...source.matchAll(pattern)].map((match) => ({
    specifier: match[1] ?? match[2] ?? match[3],
    line: source.slice(0, match.index).split("\n").length,
  }));
}

function explainViolation(room: string | null, target: string): string | null {
  const targetRoom = roomOf(target);
  if (room === null) return "this file lies in none of the rooms; see src/cli/dev/room_rule.ts";
  if (targetRoom === null) {
    return `src/${room} may not import ${target}, which is outside the rooms`;
  }
  if (targetRoom === room) return null;
  const allowed: readonly string[] = NARROWER[room] ??
    ROOMS.slice(0, ROOMS.indexOf(room as typeof ROOMS[number]));
  if (allowed.includes(targetRoom)) return null;
  const list = allowed.length === 0
    ? "nothing outside it"
    : `only ${allowed.join(", ")} outside it`;
  return `src/${room} may not import ${target}: it imports ${list}`;
}

/** What is wrong with an import inside one room, if anything. */
function explainInner(file: string, target: string): string | null {
  const [, room, inner, ...below] = file.split("/");
  const [, targetRoom, targetInner, ...targetBelow] = target.split("/");
  const order = INNER[room];
  if (order === undefined || room !== targetRoom || below.length === 0) return null;
  const place = order.indexOf(inner);
  if (place < 0) {
    return `src/${room}/${inner} is no room of src/${room}; see src/cli/dev/room_rule.ts`;
  }
  if (targetBelow.length > 0 && order.indexOf(targetInner) <= place) return null;
  const allowed = order.slice(0, place).join(", ") || "nothing";
  return `src/${room}/${inner} may not import ${target}: of src/${room} it imports ${allowed}`;
}

function roomOf(file: string): string | null {
  const [top, room] = file.split("/");
  return top === "src" && (ROOMS as readonly string[]).includes(room) ? room : null;
}

function typeScriptFiles(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = join(folder, name);
    if (isDirectory) return typeScriptFiles(path);
    return /\.tsx?$/.test(name) ? [path] : [];
  });
}

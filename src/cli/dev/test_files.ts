import { join, relative, resolve } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { PROJECT_FOLDER } from "./project.ts";
import { ROOMS } from "./room_rule.ts";

/**
 * The test files that paths name, those of the last rooms first: they start whole programs and take longest, so that
 * at the end no lane waits for another for long.
 *
 * @param paths files and folders below the project's folder or below tests/; none for all
 * @returns paths in the project's folder
 * @throws UserError when one is not there or has no tests
 */
export function findTestFiles(paths: readonly string[]): string[] {
  const found = (paths.length === 0 ? ["tests"] : paths).flatMap((path) => {
    const place = locate(path);
    const files = Deno.statSync(join(PROJECT_FOLDER, place)).isFile ? [place] : filesBelow(place);
    if (files.length === 0) throw new UserError(`There are no tests in ${place}.`);
    return files;
  });
  return [...new Set(found)].sort().sort((one, other) => turnOf(one) - turnOf(other));
}

function locate(path: string): string {
  // The folders bench and examples have tests below tests/ alone.
  for (const candidate of [join("tests", path), path]) {
    try {
      const place = resolve(PROJECT_FOLDER, candidate);
      Deno.statSync(place);
      return relative(PROJECT_FOLDER, place);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new UserError(
    `There is no test file or folder ${path}. Name one below tests/, or search by name with --filter.`,
  );
}

function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(join(PROJECT_FOLDER, folder))].flatMap(({ name, isDirectory }) => {
    const path = join(folder, name);
    if (isDirectory) return filesBelow(path);
    return name.endsWith(".test.ts") ? [path] : [];
  });
}

/** What is of no room, such as the examples, goes first. */
function turnOf(file: string): number {
  const rooms: readonly string[] = ROOMS;
  const room = rooms.findIndex((name) => file.startsWith(`tests/${name}/`));
  return room < 0 ? 0 : rooms.length - room;
}

import { fileErrors } from "../system/files.ts";

/** Whether an error says that nothing lies at a path. */
export function isMissing(error: unknown): boolean {
  return error instanceof fileErrors.NotFound || error instanceof fileErrors.NotADirectory;
}

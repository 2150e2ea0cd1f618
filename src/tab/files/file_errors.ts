/** What a file system says against a call, as Deno does on Linux. */

/** Errors by their names in Deno. */
export class NotFound extends Error {
  override readonly name = "NotFound";
}
export class NotADirectory extends Error {
  override readonly name = "NotADirectory";
}
export class IsADirectory extends Error {
  override readonly name = "IsADirectory";
}
export class AlreadyExists extends Error {
  override readonly name = "AlreadyExists";
}
/** Nothing here is ever denied; who asks whether an error is one learns that it is not. */
export class PermissionDenied extends Error {
  override readonly name = "PermissionDenied";
}

export const said = (what: string, number: number, doing: string, path: string) =>
  `${what} (os error ${number}): ${doing} '${path}'`;
export const missing = (doing: string, path: string) =>
  new NotFound(said("No such file or directory", 2, doing, path));
export const noFolder = (doing: string, path: string) =>
  new NotADirectory(said("Not a directory", 20, doing, path));
export const notEmpty = (doing: string, path: string) =>
  new Error(said("Directory not empty", 39, doing, path));

import { UserError } from "./user_error.ts";

/**
 * One error for several that have to be told together: mistakes or a disk that a user can mend are one UserError
 * that says each of them once, anything else an AggregateError of all.
 *
 * @param message what failed, where they are not all the user's to mend
 */
export function severalErrors(errors: readonly unknown[], message: string): Error {
  if (!errors.every((error) => error instanceof UserError)) {
    return new AggregateError(errors, message);
  }
  return new UserError([...new Set(errors.map((error) => error.message))].join("\n"));
}

import { UserError } from "../../../../base/user_error.ts";

/** A tab has no modules of the user's. */
export function moduleFile(path: string): never {
  throw new UserError(`${path}: modules of your own cannot be run in a tab; use ./tango train.`);
}

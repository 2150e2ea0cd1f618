/**
 * A mistake the user can mend: bad configuration, file, request, or a missing GPU. The command line
 * prints its message without a stack trace and exits with code 2.
 */
export class UserError extends Error {
  override name = "UserError";
}

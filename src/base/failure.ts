/**
 * Something gave out that neither the user nor the program did wrong, such as a GPU that its driver reset. The
 * command line prints its message, which says how to go on, without a stack trace and exits with code 1.
 */
export class Failure extends Error {
  override name = "Failure";
}

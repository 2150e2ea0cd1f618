/** The process that sets two runs beside each other: it is given their folders and prints the difference. */

import { UserError } from "../../base/user_error.ts";
import { runDifference } from "../../run/difference/run_difference.ts";
import { RunFolder } from "../../run/store/run_folder.ts";

try {
  const [a, b] = Deno.args.map((path) => RunFolder.open(path));
  console.log(JSON.stringify(await runDifference({ a, b })));
} catch (error) {
  // A run that goes on removes its older checkpoints.
  const isGone = error instanceof Deno.errors.NotFound;
  console.error(
    isGone
      ? "A file of one of the runs was removed while it was read; ask again."
      : error instanceof UserError
      ? error.message
      : error,
  );
  Deno.exit(isGone || error instanceof UserError ? 2 : 1);
}

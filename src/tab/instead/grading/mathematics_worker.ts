import { UserError } from "../../../base/user_error.ts";

/** A tab compares numbers and texts by their spelling alone. */
export class MathematicsWorker {
  readonly timeouts = 0;

  compare({ answer, reference }: { answer: string; reference: string }): Promise<boolean> {
    throw new UserError(
      `Whether ${answer} is ${reference} takes more than their spelling to tell, which a tab does not do. Take ` +
        "problems whose answers are numbers, or use ./tango train.",
    );
  }

  close(): void {}
}

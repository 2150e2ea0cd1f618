import { useState } from "preact/hooks";
import { asError } from "./api.ts";

/** For something that is asked of the server: whether it is under way, and why it failed. */
export function useSending() {
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  /** What a button or a form does. */
  const sending = (work: () => Promise<void>) => async (event?: Event) => {
    event?.preventDefault();
    setBusy(true);
    setError(null);
    await work().catch((failure) => setError(asError(failure)));
    setBusy(false);
  };
  return { error, setError, isBusy, sending };
}

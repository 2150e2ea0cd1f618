import { useState } from "preact/hooks";
import { canAsk } from "../live/use_endings.ts";

/** Asks the browser for leave to notify the reader when a run ends. */
export function TellMe() {
  const [canBeAsked, setCanBeAsked] = useState(canAsk);
  if (!canBeAsked) return null;
  const ask = async () => {
    await Notification.requestPermission();
    setCanBeAsked(canAsk());
  };
  return (
    <button
      type="button"
      class="plain"
      onClick={ask}
      title="By a notification, also while this page is hidden"
    >
      Tell me when it ends
    </button>
  );
}

import { useRef } from "preact/hooks";
import { send } from "../live/api.ts";
import { useSending } from "../live/use_sending.ts";
import { Confirm } from "./confirm.tsx";
import { Failure } from "./failure.tsx";

/** Deletes something after a question, and says there why it could not. */
export function DeleteButton(
  { path, what, question, label = "Delete", onRemoved }: {
    /** Its address. */
    path: string;
    /** Tells it from others of its kind beside it, to those who hear the button. */
    what?: string;
    question: string;
    label?: string;
    onRemoved: () => void;
  },
) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { error, isBusy, sending } = useSending();
  const remove = sending(async () => {
    await send("DELETE", path);
    // The button goes with what it has deleted, and whoever was there would be nowhere.
    document.getElementById("main")?.focus();
    onRemoved();
  });
  return (
    <>
      <button
        type="button"
        class="danger"
        disabled={isBusy}
        onClick={() => dialog.current?.showModal()}
      >
        {label} {what && <span class="unseen">{what}</span>}
      </button>
      <Failure error={error} />
      <Confirm dialog={dialog} question={question} yes={label} onYes={remove} />
    </>
  );
}

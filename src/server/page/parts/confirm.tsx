import type { RefObject } from "preact";
import { useId } from "preact/hooks";

/** A question that is asked before something is done that cannot be undone. */
export function Confirm(
  { dialog, question, yes, onYes }: {
    dialog: RefObject<HTMLDialogElement>;
    question: string;
    yes: string;
    onYes: () => void;
  },
) {
  const id = useId();
  const close = () => dialog.current?.close();
  return (
    <dialog ref={dialog} aria-labelledby={id}>
      <p id={id}>{question}</p>
      <div class="buttons">
        <button type="button" onClick={close}>No</button>
        <button type="button" class="danger" onClick={() => (close(), onYes())}>{yes}</button>
      </div>
    </dialog>
  );
}

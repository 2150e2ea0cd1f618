/** Where the keyboard is when what it pressed is gone. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Of the element around the buttons. */
interface Keeps {
  readonly ref: RefObject<HTMLDivElement>;
  readonly role: "group";
  readonly tabIndex: -1;
  readonly onClick: () => void;
}

/**
 * For an element around buttons that go away, or are switched off, once they are pressed: it has the
 * focus then, so that the next Tab reaches the buttons that have come instead.
 *
 * @param shown changes whenever other buttons are shown
 */
export function useKeptFocus(shown: string): Keeps {
  const ref = useRef<HTMLDivElement>(null);
  const wasPressed = useRef(false);
  useEffect(() => {
    const { activeElement, body } = document;
    const isLost = activeElement === null || activeElement === body ||
      activeElement.matches(":disabled");
    if (wasPressed.current && isLost) ref.current?.focus();
    else wasPressed.current = false;
  }, [shown]);
  return { ref, role: "group", tabIndex: -1, onClick: () => void (wasPressed.current = true) };
}

/** Colours of the style sheet as a canvas needs them. */

import { useEffect, useState } from "preact/hooks";

/** Dashes that tell runs apart, in the order in which they are compared. */
export const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

/**
 * @param name of a property of the style sheet, such as "--ink"
 * @returns as the page has it now, light or dark
 */
export function colourOf(name: string): string {
  const probe = document.createElement("span");
  // Colours that a reader forces on the page are not for curves: all of them would be one.
  probe.style.setProperty("forced-color-adjust", "none");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** A number that is another one whenever the page's colours are others. */
export function useTheme() {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const onChange = () => setVersion((number) => number + 1);
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", onChange);
    addEventListener("themechange", onChange);
    return () => {
      system.removeEventListener("change", onChange);
      removeEventListener("themechange", onChange);
    };
  }, []);
  return version;
}

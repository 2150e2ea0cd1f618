/** Whether two values are the same all through. */
export { isDeepStrictEqual } from "node:util";

/** Paths as this system writes them. */
export { basename, dirname, join, relative, resolve, sep } from "node:path";

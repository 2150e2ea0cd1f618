export { basename, dirname, join, relative, resolve } from "pathe";

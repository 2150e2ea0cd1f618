export { dequal as isDeepStrictEqual } from "dequal";

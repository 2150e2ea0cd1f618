/** The libraries that index.html loads before the page's own modules, with their types. */

/** @type {typeof import("preact")} */
const preact = Reflect.get(globalThis, "preact");
/** @type {typeof import("preact/hooks")} */
const hooks = Reflect.get(globalThis, "preactHooks");

export const { h, Fragment, render } = preact;
export const { useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } = hooks;

/** @type {typeof import("uplot")} */
export const UPlot = Reflect.get(globalThis, "uPlot");

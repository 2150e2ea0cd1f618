/** How many random orders of requests are tried; more by the variable, for those who have the time. */
export const ORDERS = Number(Deno.env.get("TANGO_TEST_ORDERS") ?? 500);

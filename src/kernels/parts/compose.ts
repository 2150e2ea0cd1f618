import { includeParts, type Parts } from "../../gpu/wgsl.ts";
import gemm_bindings from "./gemm_bindings.wgsl" with { type: "text" };
import gemm_start from "./gemm_start.wgsl" with { type: "text" };
import gemm_start_vector from "./gemm_start_vector.wgsl" with { type: "text" };
import gemm_write from "./gemm_write.wgsl" with { type: "text" };
import gemm_write_vector from "./gemm_write_vector.wgsl" with { type: "text" };
import logit_order from "./logit_order.wgsl" with { type: "text" };
import philox from "./philox.wgsl" with { type: "text" };
import stored_vectors from "./stored_vectors.wgsl" with { type: "text" };

/** What kernels share, by the name that `//#include` gives it. */
const parts: Parts = {
  gemm_bindings,
  gemm_start,
  gemm_start_vector,
  gemm_write,
  gemm_write_vector,
  logit_order,
  philox,
  stored_vectors,
};

/** A kernel's text with the parts it includes. */
export function compose(text: string): string {
  return includeParts(text, parts);
}

import { compose } from "../../parts/compose.ts";
import type { Parts } from "../../../gpu/wgsl.ts";
import gemm_bindings from "./gemm_bindings.wgsl" with { type: "text" };
import gemm_finish_vector from "./gemm_finish_vector.wgsl" with { type: "text" };
import gemm_further from "./gemm_further.wgsl" with { type: "text" };
import gemm_matrix_copy from "./gemm_matrix_copy.wgsl" with { type: "text" };
import gemm_matrix_load from "./gemm_matrix_load.wgsl" with { type: "text" };
import gemm_matrix_memory from "./gemm_matrix_memory.wgsl" with { type: "text" };
import gemm_matrix_put from "./gemm_matrix_put.wgsl" with { type: "text" };
import gemm_matrix_put_across from "./gemm_matrix_put_across.wgsl" with { type: "text" };
import gemm_matrix_runs_load from "./gemm_matrix_runs_load.wgsl" with { type: "text" };
import gemm_start from "./gemm_start.wgsl" with { type: "text" };
import gemm_start_vector from "./gemm_start_vector.wgsl" with { type: "text" };
import gemm_tiled_load_a from "./gemm_tiled_load_a.wgsl" with { type: "text" };
import gemm_tiled_load_b from "./gemm_tiled_load_b.wgsl" with { type: "text" };
import gemm_write from "./gemm_write.wgsl" with { type: "text" };
import gemm_write_vector from "./gemm_write_vector.wgsl" with { type: "text" };

const own: Parts = {
  gemm_bindings,
  gemm_finish_vector,
  gemm_further,
  gemm_matrix_copy,
  gemm_matrix_load,
  gemm_matrix_memory,
  gemm_matrix_put,
  gemm_matrix_put_across,
  gemm_matrix_runs_load,
  gemm_start,
  gemm_start_vector,
  gemm_tiled_load_a,
  gemm_tiled_load_b,
  gemm_write,
  gemm_write_vector,
};

/** A kernel of matrix products with the parts it includes. */
export function composeProducts(text: string): string {
  return compose(text, own);
}

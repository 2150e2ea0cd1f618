  // Where this lane stages walked vectors from, once `walked` is filled.
  workgroupBarrier();
  //#for n 0 WALKED_STEPS
  let item$n = lane + $(n*LANES)u;
  let walkedAt$n = walked[item$n % $(LX)u * 4u + item$n / $(LX*SLAB)u] + item$n / $(LX)u % $(SLAB)u;
  //#endfor
  //#for n 0 COLUMN_STEPS
  let columnAt$n = walked[(lane + $(n*LANES)u) / $(DX)u] + (lane + $(n*LANES)u) % $(DX)u;
  //#endfor

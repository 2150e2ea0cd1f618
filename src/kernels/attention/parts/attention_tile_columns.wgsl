  // The vectors dx + $DX * V of the walked rows of FROM into `stage`, for attention_tile_sum.
  workgroupBarrier();
  //#include attention_tile_stage AT="columnAt" OFFSET=V*DX FACTOR="" BASE=0 IN=DX COUNT=WALK*DX STEPS=COLUMN_STEPS
  workgroupBarrier();

                // $VECTOR: a vector of the head in one of $OF, which begins at $INDEX. SHARED: one that all lanes read is loaded once.
                //#if SHARED
                var $VECTOR: vec4<f32>;
                if (isShared) {
                  $VECTOR = load_$(OF)((sharedRow + j + $(KEY)u) * stride + ofHead + $(VECTOR_OF_HEAD)u);
                } else {
                  $VECTOR = load_$(OF)($INDEX + $(VECTOR_OF_HEAD)u);
                }
                //#else
                let $VECTOR = load_$(OF)($INDEX + $(VECTOR_OF_HEAD)u);
                //#endif

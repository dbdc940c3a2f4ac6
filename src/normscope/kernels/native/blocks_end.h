/* What blocks.h defined, and what it was given. */
#undef FN
#undef OF
#undef V
#undef BLOCK
#undef VECTORS
#undef EACH
#undef KIND
#undef T
#undef W

/* Where rows meet within a line of the cache: the end of one waits for the beginning of the next, for to write part of
 * a line past the cache costs as much as some whole ones. Included once for each instruction set, after its lanes.
 */
typedef struct {
    char *to;     /* where the bytes belong */
    size_t bytes; /* how many there are: less than a line, between two calls */
    _Alignas(64) char cells[64 + 128 + 64];
} Edge;

static void spill(Edge *edge)
{
    memcpy(edge->to, edge->cells, edge->bytes);
    edge->bytes = 0;
}

/* Of `from`, as many bytes as are copied must be readable: a number that is known is copied without a call. */
OP void collect(Edge *edge, void *to, const void *from, size_t bytes, const size_t copied)
{
    if (edge->to + edge->bytes != to) {
        if (edge->bytes)
            spill(edge);
        edge->to = to;
    }
    memcpy(edge->cells + edge->bytes, from, copied);
    edge->bytes += bytes;
    size_t done = -(uintptr_t)edge->to % 64; /* of a line that began before, and is not ours */
    if (done > edge->bytes)
        return;
    if (done)
        memcpy(edge->to, edge->cells, done);
    for (; done + 64 <= edge->bytes; done += 64)
        stream_line(edge->to + done, edge->cells + done);
    edge->bytes -= done;
    edge->to += done;
    memmove(edge->cells, edge->cells + done, 64);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* with: core_oracle.c */
/* The lease machine: bytes are events for a few leases over a few nodes. The
 * nodes may send any reply that a store passes on. core_oracle.c checks each
 * step. At the end every lease is released while no node replies: each must end
 * within its time.
 *
 * Input: a byte for the number of nodes and the kinds of leases; then moves. */
#include "core_oracle.h"

#include "core/limits.h"

#define LEASES 3
#define MOVES_MAX 600
#define LAST_STEPS_MAX 5000

static struct world {
    struct hf_nodes nodes;
    struct hf_instant now;
    struct one {
        _Alignas(
            struct hf_lease) char room[sizeof(struct hf_lease) +
                                       HF_NODES_MAX * sizeof(struct hf_vote)];
        struct oracle oracle;
        bool is_live;
    } leases[LEASES];
} world;

static struct hf_lease *lease_of(struct one *one)
{
    return (struct hf_lease *)(void *)one->room;
}

/* If FUZZ_TRACE is set: print the events of a replay. */
static void trace(const struct one *one, const struct hf_event *event)
{
    if (getenv("FUZZ_TRACE") != NULL) {
        fprintf(stderr,
                "%9.3f  lease %td phase %d  event %d node %d  verb %d "
                "verdict %d counter %ju\n",
                (double)(world.now.ns - 1000000000) / 1e6, one - world.leases,
                lease_of((struct one *)(uintptr_t)one)->phase, (int)event->kind,
                event->node, (int)event->verb, (int)event->verdict,
                (uintmax_t)event->counter);
    }
}

static void trace_effects(const struct hf_effects *effects)
{
    for (unsigned i = 0; i < effects->n_sends && getenv("FUZZ_TRACE"); i++) {
        fprintf(stderr, "           > node %d verb %d counter %ju ttl %jd\n",
                effects->sends[i].node, (int)effects->sends[i].verb,
                (uintmax_t)effects->sends[i].counter,
                (intmax_t)effects->sends[i].ttl.ns / 1000000);
    }
    if (effects->outcome != HF_OUT_NONE && getenv("FUZZ_TRACE")) {
        fprintf(stderr, "           outcome %d\n", (int)effects->outcome);
    }
}

static void step_nodes(struct hf_nodes_event event)
{
    hf_nodes_step(&world.nodes, &event);
}

static void step(struct one *one, struct hf_event event)
{
    struct hf_effects effects;
    if (!one->is_live) {
        return;
    }
    event.now = world.now;
    trace(one, &event);
    oracle_event(&one->oracle, &event);
    hf_lease_step(lease_of(one), &world.nodes, &event, &effects);
    trace_effects(&effects);
    oracle_effects(&one->oracle, &event, &effects);
    for (unsigned i = 0; i < world.nodes.count; i++) {
        if ((effects.missed & (1U << i)) != 0) {
            step_nodes((struct hf_nodes_event){.kind = HF_NODES_EV_MISS,
                                               .node = (uint8_t)i,
                                               .now = world.now});
        }
    }
    one->is_live = !effects.done;
    (void)hf_lease_seen(lease_of(one));
    if (effects.outcome == HF_OUT_TAKEN) {
        FUZZ_CHECK(hf_lease_rival_left(lease_of(one)).ns >= 0);
    }
}

/* ---- Moves ------------------------------------------------------------- */

static int64_t read_ttl_ms(struct fuzz_input *in)
{
    static const int64_t some[] = {10, 100, 1000, 6000, 30000, 86400000};
    return some[fuzz_u8(in) % 6];
}

/* Small, so that counters collide; or near the limit. */
static uint64_t read_counter(struct fuzz_input *in)
{
    uint8_t what = fuzz_u8(in);
    return what < 250 ? what % 25U : HF_FENCE_MAX - (what - 250U);
}

static void begin(struct one *one, struct fuzz_input *in)
{
    uint8_t what = fuzz_u8(in);
    uint64_t counter = read_counter(in);
    struct hf_event event = {.kind = HF_EV_ACQUIRE, .counter = counter};
    struct hf_span ttl = hf_span_ms(read_ttl_ms(in));
    uint8_t jitter = fuzz_u8(in);
    hf_lease_init(lease_of(one), world.nodes.count, ttl, jitter);
    oracle_init(&one->oracle, lease_of(one), &world.nodes);
    one->is_live = true;
    event.queues = (what & 1) != 0;
    event.place_stays = (what & 128) != 0;
    if (what % 8 == 6 && counter > 0) {
        event.kind = HF_EV_ADOPT;
    } else if (what % 8 == 7) {
        event.kind = HF_EV_RELEASE_FOREIGN;
    }
    step(one, event);
}

/* Replies arrive in the order of the requests. Only a request that was never
 * sent may be answered at once. */
static int pick_pending(const struct one *one, unsigned node, bool is_newest)
{
    const struct heard *heard = &one->oracle.heard[node];
    int found = -1;
    for (int verb = 0; verb <= HF_VERB_YIELD; verb++) {
        if (heard->is_pending[verb] &&
            (found < 0 ||
             (heard->number[verb] > heard->number[found]) == is_newest)) {
            found = verb;
        }
    }
    return found;
}

#define UNSENT 4 /* index in `verdicts` */

static const enum hf_verdict verdicts[] = {
    HF_VERDICT_OK,     HF_VERDICT_OK,     HF_VERDICT_OK,
    HF_VERDICT_QUEUED, HF_VERDICT_UNSENT, HF_VERDICT_UNKNOWN,
    HF_VERDICT_ERROR,  HF_VERDICT_REFUSED};

/* The replies that a store may give to each request (store.h). */
static void answer(struct one *one, unsigned node, int verb, uint8_t what,
                   struct fuzz_input *in)
{
    bool asks = verb == HF_VERB_ACQUIRE || verb == HF_VERB_YIELD;
    struct hf_event event = {
        .kind = HF_EV_ANSWER,
        .node = (uint8_t)node,
        .verb = (enum hf_verb)verb,
        .verdict = verdicts[what % 8],
        .sent = one->oracle.heard[node].sent[verb],
        .counter = read_counter(in),
    };
    uint8_t more = fuzz_u8(in);
    if (event.verdict == HF_VERDICT_QUEUED && !asks) {
        event.verdict = HF_VERDICT_REFUSED;
    }
    if (event.verdict == HF_VERDICT_OK && verb != HF_VERB_RELEASE &&
        event.counter == 0) {
        event.counter = 1;
    }
    if ((more & 1) != 0) {
        event.counter = one->oracle.heard[node].sends[verb].counter + 1;
        event.counter =
            event.counter > HF_FENCE_MAX ? HF_FENCE_MAX : event.counter;
    }
    event.floor = (more & 2) != 0 ? read_counter(in) : 0;
    event.bound = (more & 6) == 4 ? event.counter + more : 0;
    event.rival = more / 4 % 4;
    event.left = (more & 16) != 0 ? HF_SPAN_MAX : hf_span_ms(read_ttl_ms(in));
    event.poll_ms_max = (more & 32) != 0 ? 40 : 0;
    event.ahead = more / 64;
    event.ticket = fuzz_u8(in);
    step_nodes((struct hf_nodes_event){
        .kind = HF_NODES_EV_REPLY,
        .node = (uint8_t)node,
        .took = hf_instant_until(event.sent, world.now)});
    step(one, event);
}

static void set_status(unsigned node, uint8_t what)
{
    static const enum hf_node_status statuses[] = {
        HF_NODE_STATUS_VOTING, HF_NODE_STATUS_CONNECTING,
        HF_NODE_STATUS_REPAIRING, HF_NODE_STATUS_DOWN};
    step_nodes((struct hf_nodes_event){.kind = HF_NODES_EV_STATUS,
                                       .node = (uint8_t)node,
                                       .status = statuses[what % 4]});
    for (unsigned i = 0; i < LEASES; i++) {
        step(&world.leases[i],
             (struct hf_event){.kind = (what & 4) != 0 ? HF_EV_NODE_RESET
                                                       : HF_EV_NODE,
                               .node = (uint8_t)node});
    }
}

static void listen(unsigned node, uint8_t what)
{
    step_nodes((struct hf_nodes_event){.kind = HF_NODES_EV_LISTEN,
                                       .node = (uint8_t)node,
                                       .is_listening = (what & 1) != 0});
    for (unsigned i = 0; i < LEASES; i++) {
        step(&world.leases[i],
             (struct hf_event){.kind = HF_EV_LISTEN, .node = (uint8_t)node});
    }
}

/* Advance to the next timer, to a time before it, or past it. */
static void pass(struct one *one, uint8_t what)
{
    struct hf_instant wake =
        one->is_live ? hf_lease_wake(lease_of(one)) : HF_NEVER;
    struct hf_instant later =
        hf_instant_add(world.now, hf_span_ms((int64_t)what * what));
    if ((what & 1) == 0 || wake.ns == HF_NEVER.ns) {
        world.now = later;
    } else {
        world.now = hf_instant_max(world.now, wake);
    }
    step(one, (struct hf_event){.kind = HF_EV_TIMER});
}

static void use(struct one *one, uint8_t what, struct fuzz_input *in)
{
    bool is_holding = one->is_live && lease_of(one)->phase == HF_PHASE_HOLDING;
    if (what % 8 == 0) {
        step(one, (struct hf_event){.kind = HF_EV_RELEASE});
    } else if (what % 64 == 1 && is_holding) {
        step(one, (struct hf_event){.kind = HF_EV_DETACH});
    } else if (is_holding) {
        int64_t ms = what % 2 == 0 ? 0 : read_ttl_ms(in);
        step(one,
             (struct hf_event){.kind = HF_EV_EXTEND, .ttl = hf_span_ms(ms)});
    }
}

static void move(struct fuzz_input *in)
{
    uint8_t what = fuzz_u8(in);
    struct one *one = &world.leases[what % LEASES];
    unsigned node = what / LEASES % world.nodes.count;
    uint8_t more = fuzz_u8(in);
    if (!one->is_live) {
        begin(one, in);
        return;
    }
    int verb = pick_pending(one, node, more / 8 % 8 == UNSENT);
    switch (more % 8) {
    case 4:
        pass(one, fuzz_u8(in));
        break;
    case 5:
        set_status(node, more / 8);
        break;
    case 6:
        listen(node, more / 8);
        break;
    case 7:
        use(one, fuzz_u8(in), in);
        break;
    case 3:
        step(one,
             (struct hf_event){.kind = more >= 128 ? HF_EV_DOUBT : HF_EV_GRANT,
                               .node = (uint8_t)node,
                               .counter = read_counter(in) | 1});
        break;
    default:
        if (verb >= 0) {
            answer(one, node, verb, more / 8, in);
        }
        break;
    }
}

/* ---- The end ----------------------------------------------------------- */

static void end(struct one *one)
{
    step(one, (struct hf_event){.kind = HF_EV_RELEASE});
    struct hf_instant latest = hf_instant_add(world.now, hf_span_ms(86400001));
    for (unsigned i = 0; one->is_live; i++) {
        struct hf_instant wake = hf_lease_wake(lease_of(one));
        FUZZ_CHECK(i < LAST_STEPS_MAX && wake.ns != HF_NEVER.ns);
        world.now = hf_instant_max(world.now, wake);
        FUZZ_CHECK(hf_instant_before(world.now, latest));
        step(one, (struct hf_event){.kind = HF_EV_TIMER});
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned counts[] = {1, 3, 3, 5};
    struct fuzz_input in = {data, size};
    uint8_t what = fuzz_u8(&in);
    memset(&world, 0, sizeof(world));
    world.now.ns = INT64_C(1000000000);
    hf_nodes_init(&world.nodes, counts[what % 4], hf_span_ms(50),
                  hf_span_ms(1000));
    for (unsigned i = 0; i < world.nodes.count; i++) {
        bool is_up = (what >> i & 4) == 0;
        step_nodes((struct hf_nodes_event){
            .kind = HF_NODES_EV_STATUS,
            .node = (uint8_t)i,
            .status =
                is_up ? HF_NODE_STATUS_VOTING : HF_NODE_STATUS_CONNECTING});
        step_nodes((struct hf_nodes_event){.kind = HF_NODES_EV_LISTEN,
                                           .node = (uint8_t)i,
                                           .is_listening = (what & 128) != 0});
    }
    for (unsigned i = 0; in.left > 0 && i < MOVES_MAX; i++) {
        move(&in);
    }
    for (unsigned i = 0; i < LEASES; i++) {
        end(&world.leases[i]);
    }
    return 0;
}

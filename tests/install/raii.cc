/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast.hpp against a store: it says "right" if every answer is. */
#include <holdfast/holdfast.hpp>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <poll.h>
#include <thread>
#include <type_traits>
#include <unistd.h>

#define CHECK(is_so)                                                           \
    do {                                                                       \
        if (!(is_so)) {                                                        \
            std::cout << "line " << __LINE__ << ": " << #is_so << "\n";        \
            std::exit(1);                                                      \
        }                                                                      \
    } while (0)

using std::chrono::milliseconds;

static_assert(!std::is_copy_constructible<holdfast::lock>::value,
              "a lock has one owner");
static_assert(std::is_nothrow_move_constructible<holdfast::lock>::value,
              "locks can be kept in containers");

/* The status that the call throws; HF_OK: none. */
template <typename Call> static hf_status thrown(Call call)
{
    try {
        call();
    } catch (const holdfast::error &why) {
        CHECK(std::strlen(why.what()) > 0);
        CHECK(why.node() >= -1);
        return why.status();
    }
    return HF_OK;
}

static bool is_free(const holdfast::client &client, const char *name)
{
    holdfast::info info = client.inspect(name);
    return hf_holder_kind(hf_info_holder(info.get())) == HF_HOLDER_NONE;
}

static void check_scope(const holdfast::client &client,
                        const holdfast::client &other)
{
    {
        holdfast::lock lock = client.acquire("scope");
        CHECK(lock && lock.fence() > 0 && lock.valid_for(milliseconds(100)));
        CHECK(lock.state() == HF_STATE_HELD);
        CHECK(lock.remaining() > milliseconds(1000));
        CHECK(lock.name() == "scope");
        CHECK(lock.owner().find('@') != std::string::npos);
        CHECK(!other.try_acquire("scope"));
        CHECK(thrown([&] { other.acquire("scope"); }) == HF_BUSY);
        CHECK(!is_free(other, "scope"));
    }
    CHECK(is_free(other, "scope"));
    try {
        holdfast::lock lock = client.acquire("scope");
        throw std::runtime_error("the work failed");
    } catch (const std::runtime_error &) {
        CHECK(is_free(other, "scope"));
    }
}

static void check_cancel(const holdfast::client &client, const char *url)
{
    holdfast::cancel_token token;
    hf_client_options options;
    hf_client_options_init(&options);
    options.cancel = token.get();
    holdfast::client ending(url, &options);
    holdfast::request what("cancelled");
    CHECK(client.acquire(what.cancel(token)) && !token.is_triggered());
    token.trigger();
    CHECK(token.is_triggered());
    CHECK(thrown([&] { client.try_acquire(what); }) == HF_CANCELLED);
    CHECK(thrown([&] { ending.inspect("cancelled"); }) == HF_CANCELLED);
    CHECK(is_free(client, "cancelled"));
}

static void check_moves(const holdfast::client &client)
{
    holdfast::lock first = client.acquire("first");
    holdfast::lock second = client.acquire("second");
    uint64_t fence = second.fence();
    first = std::move(second);
    CHECK(is_free(client, "first") && !is_free(client, "second"));
    CHECK(!second && second.fence() == 0 && second.name().empty());
    CHECK(first.fence() == fence);
    std::vector<holdfast::lock> kept;
    kept.push_back(std::move(first));
    kept.push_back(client.acquire("third"));
    CHECK(!is_free(client, "second"));
    CHECK(kept.front().release() == HF_OK && !kept.front());
    CHECK(kept.front().release() == HF_OK);
    CHECK(is_free(client, "second"));
    kept.clear();
    CHECK(is_free(client, "third"));
}

/* The client lives as long as a lock of it. */
static void check_last_lock(const char *url, const holdfast::client &other)
{
    holdfast::lock lock;
    {
        holdfast::client client(url);
        lock = client.acquire("last");
    }
    lock.extend();
    CHECK(!is_free(other, "last"));
    CHECK(lock.release() == HF_OK && is_free(other, "last"));
}

static void check_requests(const holdfast::client &client,
                           const holdfast::client &other)
{
    std::string with_nul("a\0b", 3);
    holdfast::request several("several-1");
    several.also("several-2").shared().also(with_nul).label("of a test");
    holdfast::lock lock = client.acquire(several.ttl(milliseconds(20000)));
    CHECK(hf_lock_count(lock.get()) == 3);
    holdfast::info info = other.inspect("several-1");
    CHECK(hf_holder_label(hf_info_holder(info.get())) ==
          std::string("of a test"));
    CHECK(other.try_acquire(holdfast::request("several-2").shared()));
    CHECK(!other.try_acquire(with_nul));
    CHECK(lock.release_reserved(milliseconds(5000)) == HF_INVALID && lock);
    CHECK(lock.release() == HF_OK && !lock);
    holdfast::request alone("several-1");
    lock = client.acquire(alone.also("several-2").also(with_nul));
    CHECK(lock.release_reserved(milliseconds(-1)) == HF_INVALID && lock);
    CHECK(lock.release_reserved(milliseconds(5000)) == HF_OK && !lock);
    CHECK(!other.try_acquire("several-1"));
    holdfast::lock permit = client.acquire(holdfast::request("gpu").permits(2));
    CHECK(other.try_acquire(holdfast::request("gpu").permits(2)));
    CHECK(thrown([&] { client.acquire(""); }) == HF_INVALID);
    CHECK(thrown([] { holdfast::client none("nonsense://x"); }) != HF_OK);
}

static void check_hand_over(const holdfast::client &client,
                            const holdfast::client &other)
{
    holdfast::lock lock = client.acquire("handed");
    uint64_t fence = lock.fence();
    std::string text = lock.detach();
    CHECK(!lock);
    holdfast::lock adopted = other.adopt("handed", text);
    CHECK(adopted.fence() == fence && adopted.release() == HF_OK);
    CHECK(thrown([&] { other.adopt("handed", text); }) == HF_LOST);
}

static void check_waiting(const holdfast::client &client,
                          const holdfast::client &other)
{
    holdfast::lock lock = client.acquire("turns");
    std::thread waiter([&] {
        holdfast::lock next =
            other.acquire(holdfast::request("turns").wait(milliseconds(20000)));
        CHECK(next.fence() > 0);
    });
    while (hf_info_waiting(client.inspect("turns").get()) == 0) {
        std::this_thread::sleep_for(milliseconds(5));
    }
    lock.release();
    waiter.join();
    lock = client.acquire(holdfast::request("turns").wait(milliseconds(20000)));
    hf_status status = HF_OK;
    std::thread interrupted([&] {
        status = thrown(
            [&] { other.acquire(holdfast::request("turns").wait_forever()); });
    });
    while (hf_info_waiting(client.inspect("turns").get()) == 0) {
        std::this_thread::sleep_for(milliseconds(5));
    }
    other.interrupt();
    interrupted.join();
    CHECK(status == HF_CANCELLED);
}

/* ---- Asynchronous ------------------------------------------------------ */

static_assert(!std::is_copy_constructible<holdfast::operation>::value,
              "an operation has one owner");
static_assert(std::is_nothrow_move_constructible<holdfast::operation>::value &&
                  std::is_nothrow_move_assignable<holdfast::operation>::value,
              "operations can be kept in containers");

/* A callback that can only be moved, and says when it is freed. */
struct end {
    explicit end(int *count) : n_freed(count)
    {
    }

    end(end &&other) noexcept : n_freed(other.n_freed)
    {
        other.n_freed = nullptr;
    }

    ~end()
    {
        if (n_freed != nullptr) {
            ++*n_freed;
        }
    }

    void operator()(holdfast::lock, const hf_error &) const
    {
        std::exit(1); /* it was cancelled */
    }

    int *n_freed;
};

template <typename Condition>
static void process_until(const holdfast::client &client, Condition is_so)
{
    CHECK(client.fd() >= 0);
    while (!is_so()) {
        pollfd fd = {client.fd(), POLLIN, 0};
        poll(&fd, 1, 1000);
        client.process();
    }
}

static void check_started(const holdfast::client &client,
                          const holdfast::client &other)
{
    holdfast::lock lock;
    hf_status status = HF_INTERNAL;
    auto take = [&](holdfast::lock got, const hf_error &why) {
        lock = std::move(got);
        status = why.status;
    };
    auto note = [&](const hf_error &why) { status = why.status; };
    auto is_over = [&] { return status != HF_INTERNAL; };
    auto next = [&] { status = HF_INTERNAL; };

    holdfast::operation op = client.start_acquire("started", take);
    CHECK(op && op.get() != nullptr);
    process_until(client, is_over);
    CHECK(status == HF_OK && lock.name() == "started" && !op);
    op.cancel(); /* over: nothing to cancel */
    CHECK(!is_free(other, "started"));

    next();
    op = other.start_acquire("started",
                             [&](holdfast::lock got, const hf_error &why) {
                                 CHECK(!got && std::strlen(why.text) > 0);
                                 status = why.status;
                             });
    process_until(other, is_over);
    CHECK(status == HF_BUSY);

    next();
    op = lock.start_extend(milliseconds(20000), note);
    process_until(client, is_over);
    CHECK(status == HF_OK && lock.remaining() > milliseconds(15000));

    next();
    std::string text;
    op = lock.start_detach(
        [&](std::string got, holdfast::lock back, const hf_error &why) {
            CHECK(!back);
            text = std::move(got);
            status = why.status;
        });
    CHECK(!lock && op);
    process_until(client, is_over);
    CHECK(status == HF_OK && !text.empty());

    next();
    op = other.start_adopt("started", text, take);
    process_until(other, is_over);
    CHECK(status == HF_OK && lock);

    next();
    op = client.start_inspect(
        "started", [&](holdfast::info found, const hf_error &why) {
            CHECK(hf_holder_kind(hf_info_holder(found.get())) ==
                  HF_HOLDER_HOLDFAST);
            status = why.status;
        });
    process_until(client, is_over);
    CHECK(status == HF_OK);

    next();
    lock.start_release(note);
    CHECK(!lock);
    process_until(other, is_over);
    CHECK(status == HF_OK && is_free(client, "started"));

    next();
    lock = other.acquire("started");
    CHECK(thrown([&] {
              lock.start_release_reserved(milliseconds(-1), note);
          }) == HF_INVALID);
    CHECK(lock);
    lock.start_release_reserved(milliseconds(5000), note);
    process_until(other, is_over);
    CHECK(status == HF_OK && !lock && !is_free(client, "started"));

    CHECK(thrown([&] { lock.start_release(note); }) == HF_INVALID);
    CHECK(thrown([&] { op = lock.start_extend(milliseconds(0), note); }) ==
          HF_INVALID);
    CHECK(thrown([&] { op = client.start_acquire("", take); }) == HF_INVALID);
}

/* A callback is freed once, and no lock stays, wherever an operation ends. */
static void check_ends(const char *url, const holdfast::client &other)
{
    int n_freed = 0;
    holdfast::lock held = other.acquire("ends");
    holdfast::request waits("ends");
    waits.wait_forever();
    {
        holdfast::client client(url);
        holdfast::operation kept = client.start_acquire(waits, end(&n_freed));
        process_until(client, [&] { return kept.waiting() != nullptr; });
        CHECK(hf_waiting_ahead(kept.waiting().get()) == 0);
        {
            holdfast::operation scope =
                client.start_acquire(waits, end(&n_freed));
            CHECK(n_freed == 0);
        }
        CHECK(n_freed == 1);
        holdfast::operation moved = std::move(kept);
        CHECK(moved && !kept && !kept.waiting());
        moved = client.start_acquire(waits, end(&n_freed));
        CHECK(n_freed == 2);
        moved.cancel();
        CHECK(n_freed == 3 && !moved);
        CHECK(thrown([&] { kept = client.start_acquire("", end(&n_freed)); }) ==
              HF_INVALID);
        CHECK(n_freed == 4);
    }
    hf_status status = HF_OK;
    holdfast::operation closed;
    {
        holdfast::client client(url);
        closed = client.start_acquire(
            waits, [&](holdfast::lock got, const hf_error &why) {
                CHECK(!got);
                status = why.status;
            });
        client.start_acquire(waits, [](holdfast::lock, const hf_error &) {})
            .forget();
    }
    CHECK(status == HF_CANCELLED && !closed);
    {
        holdfast::operation detaches =
            held.start_detach([](std::string, holdfast::lock,
                                 const hf_error &) { std::exit(1); });
        CHECK(!held);
    }
    CHECK(is_free(other, "ends"));
}

static void check_lists(const holdfast::client &client)
{
    int n_each = 0;
    bool is_over = false;
    auto done = [&](const hf_error &why) {
        CHECK(why.status == HF_OK);
        is_over = true;
    };
    auto each = [&](const std::string &name, const hf_info *info) {
        CHECK(name == "listed-1" || name == "listed-2");
        CHECK(hf_holder_kind(hf_info_holder(info)) == HF_HOLDER_HOLDFAST);
        n_each++;
        return true;
    };
    holdfast::lock one = client.acquire("listed-1");
    holdfast::lock two = client.acquire("listed-2");
    holdfast::operation op = client.start_list("listed-*", each, done);
    process_until(client, [&] { return is_over; });
    CHECK(n_each == 2);

    is_over = false;
    n_each = 0;
    op = client.start_queue(
        "listed-1",
        [&](const hf_queue_entry *entry) {
            CHECK(hf_queue_entry_node(entry) == 0);
            n_each++;
            return true;
        },
        done);
    process_until(client, [&] { return is_over; });
    CHECK(n_each == 1);

    /* Cancelled by what it calls: that lives on until it has returned. */
    n_each = 0;
    std::string kept("as long as the callback");
    op = client.start_list(
        "listed-*",
        [&op, &n_each, kept](const std::string &, const hf_info *) {
            op.cancel();
            CHECK(kept == "as long as the callback");
            n_each++;
            return true;
        },
        [](const hf_error &) { std::exit(1); });
    process_until(client, [&] { return n_each > 0; });
    CHECK(n_each == 1 && !op);
}

static void check_breaks(const holdfast::client &client,
                         const holdfast::client &other)
{
    hf_status status = HF_OK;
    milliseconds until(0);
    bool is_over = false;
    int n_asked = 0;
    auto done = [&](milliseconds held_until, const hf_error &why) {
        until = held_until;
        status = why.status;
        is_over = true;
    };
    holdfast::lock lock =
        client.acquire(holdfast::request("broken").ttl(milliseconds(20000)));
    holdfast::operation op = other.start_break(
        "broken",
        [&](const hf_holder *holder, milliseconds wait) {
            CHECK(hf_holder_pid(holder) == getpid() && wait.count() > 0);
            n_asked++;
            return false;
        },
        done);
    process_until(other, [&] { return is_over; });
    CHECK(status == HF_BUSY && n_asked == 1 && lock.state() == HF_STATE_HELD);
    lock.extend();

    is_over = false;
    op = other.start_break_now("broken", done);
    process_until(other, [&] { return is_over; });
    CHECK(status == HF_OK && until.count() > 0 && is_free(client, "broken"));
    CHECK(lock.release() == HF_LOST);
}

static void check_values(const holdfast::client &client)
{
    const std::string bytes("a\0b", 3);
    holdfast::value none = client.get_value("value");
    CHECK(none.version == 0 && none.data.empty());
    uint64_t first = client.put_value("value", bytes, 0);
    CHECK(first > 0 && client.put_value("value", "x", 0) == 0);
    CHECK(client.get_value("value").data == bytes);
    uint64_t second = client.update_value(
        "value", [](const holdfast::value &now) { return now.data + "c"; });
    CHECK(second > first && client.get_value("value").data == bytes + "c");
    CHECK(!client.delete_value("value", first));
    bool has_passed = false;
    try {
        client.update_value("value",
                            [](const holdfast::value &) -> std::string {
                                throw std::runtime_error("no new value");
                            });
    } catch (const std::runtime_error &) {
        has_passed = true;
    }
    CHECK(has_passed && client.get_value("value").version == second);
    CHECK(client.delete_value("value", second));
    CHECK(client.get_value("value").version == 0);
}

int main(int argc, char **argv)
{
    alarm(60);
    CHECK(argc == 2);
    holdfast::client client(argv[1]);
    holdfast::client other{std::string(argv[1])};
    check_scope(client, other);
    check_moves(client);
    check_last_lock(argv[1], other);
    check_requests(client, other);
    check_hand_over(client, other);
    check_waiting(client, other);
    check_started(client, other);
    check_ends(argv[1], other);
    check_lists(client);
    check_breaks(client, other);
    check_cancel(client, argv[1]);
    check_values(client);
    std::cout << "right\n";
    return 0;
}

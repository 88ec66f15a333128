/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast.hpp against a store: it says "right" if every answer is. */
#include <holdfast/holdfast.hpp>

#include <cstdlib>
#include <cstring>
#include <iostream>
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
    CHECK(lock.release_reserved(milliseconds(5000)) == HF_OK);
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
    check_cancel(client, argv[1]);
    std::cout << "right\n";
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Operations, and the callbacks at their end.
 * A part of holdfast/holdfast.hpp: include that one.
 */
#ifndef HF_HOLDFAST_OPERATIONS_HPP
#define HF_HOLDFAST_OPERATIONS_HPP

#include <holdfast/requests.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace holdfast
{

/** What hf_waiting_*() read; freed by itself. */
struct waiting_free {
    void operator()(hf_waiting *waiting) const noexcept
    {
        hf_waiting_free(waiting);
    }
};
using waiting = std::unique_ptr<hf_waiting, waiting_free>;

/** Not for programs. */
namespace detail
{

/* An operation and its callbacks. It owns itself until it is over, and does not
 * keep its client: closing that ends it. */
struct pending {
    pending() = default;
    pending(const pending &) = delete;
    pending &operator=(const pending &) = delete;
    virtual ~pending() = default;

    /** It is over: its callbacks live as long as what this returns. */
    std::shared_ptr<pending> end() noexcept
    {
        handle = nullptr;
        return std::move(self);
    }

    hf_op *handle = nullptr;
    std::shared_ptr<pending> self;
};

} // namespace detail

/** What start_*() started; cancelled when this goes out of scope. Empty once it
 * is over. Use it in the thread that calls client::process(), or not at the
 * same time. */
class operation
{
  public:
    operation() noexcept = default;

    explicit operation(std::shared_ptr<detail::pending> state) noexcept
        : state_(std::move(state))
    {
    }

    operation(const operation &) = delete;
    operation &operator=(const operation &) = delete;
    operation(operation &&other) noexcept = default;

    operation &operator=(operation &&other) noexcept
    {
        if (this != &other) {
            cancel();
            state_ = std::move(other.state_);
        }
        return *this;
    }

    ~operation()
    {
        cancel();
    }

    /** Is it under way? */
    explicit operator bool() const noexcept
    {
        return get() != nullptr;
    }

    /** For the functions of holdfast.h; NULL once it is over. */
    hf_op *get() const noexcept
    {
        return state_ ? state_->handle : nullptr;
    }

    /** Give it up, as hf_op_cancel() says: its callback is not called. A lock
     * that is being detached is released. */
    void cancel() noexcept
    {
        std::shared_ptr<detail::pending> state = std::move(state_);
        hf_op *handle = state ? state->handle : nullptr;
        if (handle != nullptr) {
            std::shared_ptr<detail::pending> last = state->end();
            hf_op_cancel(handle);
        }
    }

    /** Let it go on without this, until its callback is called. */
    void forget() noexcept
    {
        state_.reset();
    }

    /** How it waits, as hf_op_waiting() says; NULL: it does not. */
    holdfast::waiting waiting() const noexcept
    {
        hf_waiting *found = nullptr;
        bool waits = get() != nullptr && hf_op_waiting(get(), &found);
        return holdfast::waiting(waits ? found : nullptr);
    }

  private:
    std::shared_ptr<detail::pending> state_;
};

namespace detail
{

/* `start(state, &state->handle, &why)` calls one function of holdfast.h. */
template <typename State, typename Start>
operation begin(const std::shared_ptr<State> &state, Start start)
{
    hf_error why;
    state->self = state;
    if (start(state.get(), &state->handle, &why) != HF_OK) {
        state->self.reset();
        throw error(why);
    }
    return operation(state);
}

/* done(why) */
template <typename Done> struct plain_end : pending {
    explicit plain_end(Done what) : done(std::move(what))
    {
    }

    static void call(void *user, hf_lock *, hf_status,
                     const hf_error *why) noexcept
    {
        plain_end *state = static_cast<plain_end *>(user);
        std::shared_ptr<pending> last = state->end();
        state->done(*why);
    }

    Done done;
};

/* done(lock, why) */
template <typename Done, typename Lock> struct lock_end : pending {
    lock_end(Done what, const std::shared_ptr<hf_client> &of)
        : done(std::move(what)), client(of)
    {
    }

    static void call(void *user, hf_lock *got, hf_status,
                     const hf_error *why) noexcept
    {
        lock_end *state = static_cast<lock_end *>(user);
        std::shared_ptr<pending> last = state->end();
        state->done(got == nullptr ? Lock() : Lock(state->client.lock(), got),
                    *why);
    }

    Done done;
    std::weak_ptr<hf_client> client;
};

/* done(text, lock, why); the lock is its own until then. */
template <typename Done, typename Lock> struct text_end : pending {
    text_end(Done what, const std::shared_ptr<hf_client> &of)
        : done(std::move(what)), client(of)
    {
    }

    ~text_end() override
    {
        take(); /* cancelled: released */
    }

    Lock take() noexcept
    {
        hf_lock *mine = lock;
        std::shared_ptr<hf_client> owner = client.lock();
        lock = nullptr;
        return owner ? Lock(std::move(owner), mine) : Lock();
    }

    static void call(void *user, const char *text, hf_status status,
                     const hf_error *why) noexcept
    {
        text_end *state = static_cast<text_end *>(user);
        std::shared_ptr<pending> last = state->end();
        if (status == HF_OK || status == HF_LOST) {
            state->lock = nullptr;
        }
        state->done(std::string(text == nullptr ? "" : text), state->take(),
                    *why);
    }

    Done done;
    std::weak_ptr<hf_client> client;
    hf_lock *lock = nullptr;
};

/* done(info, why) */
template <typename Done, typename Info> struct info_end : pending {
    explicit info_end(Done what) : done(std::move(what))
    {
    }

    static void call(void *user, hf_info *found, hf_status,
                     const hf_error *why) noexcept
    {
        info_end *state = static_cast<info_end *>(user);
        std::shared_ptr<pending> last = state->end();
        state->done(Info(found), *why);
    }

    Done done;
};

/* each(entry) or each(name, info), then done(why). It may be cancelled in
 * `each`. */
template <typename Each, typename Done> struct each_end : plain_end<Done> {
    each_end(Each result, Done what)
        : plain_end<Done>(std::move(what)), each(std::move(result))
    {
    }

    static bool call_entry(void *user, const hf_queue_entry *entry) noexcept
    {
        each_end *state = of(user);
        std::shared_ptr<pending> alive = state->self;
        return state->each(entry);
    }

    static bool call_name(void *user, const void *name, size_t name_len,
                          const hf_info *info) noexcept
    {
        each_end *state = of(user);
        std::shared_ptr<pending> alive = state->self;
        return state->each(
            std::string(static_cast<const char *>(name), name_len), info);
    }

    /* `user` is what plain_end::call() gets, too. */
    static each_end *of(void *user) noexcept
    {
        return static_cast<each_end *>(static_cast<plain_end<Done> *>(user));
    }

    Each each;
};

/* may_wait(holder, wait), and done(held_until, why) */
template <typename May, typename Done> struct break_end : pending {
    break_end(May ask, Done what)
        : may_wait(std::move(ask)), done(std::move(what))
    {
    }

    static bool call_may_wait(void *user, const hf_holder *holder,
                              int64_t wait_ms) noexcept
    {
        break_end *state = static_cast<break_end *>(user);
        std::shared_ptr<pending> alive = state->self;
        return state->may_wait(holder, std::chrono::milliseconds(wait_ms));
    }

    static void call(void *user, int64_t held_until_ms, hf_status,
                     const hf_error *why) noexcept
    {
        break_end *state = static_cast<break_end *>(user);
        std::shared_ptr<pending> last = state->end();
        state->done(std::chrono::milliseconds(held_until_ms), *why);
    }

    May may_wait;
    Done done;
};

} // namespace detail

} // namespace holdfast

#endif

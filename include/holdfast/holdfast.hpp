/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Holdfast for C++11: handles that free themselves, and exceptions. Everything
 * here is inline and calls holdfast.h, which remains the manual.
 *
 *     holdfast::client client("redis://a,b,c");
 *     holdfast::lock lock = client.acquire("invoice-42");
 *     write_with_fence(lock.fence());
 *
 * The lock is released when `lock` goes out of scope. That blocks for
 * node_timeout (50 ms) at most, and says nothing of how it went: call release()
 * where that matters.
 *
 * A client is closed when it, and the last lock that it gave, are gone. A
 * moved-from or released lock is empty: it holds nothing, and may be destroyed
 * or assigned to.
 *
 * What start_*() starts ends in a callback, which client::process() calls:
 *
 *     holdfast::operation waits = client.start_acquire(
 *         holdfast::request("job").wait_forever(),
 *         [&](holdfast::lock lock, const hf_error &why) { ... });
 *     for (;;) {
 *         wait until client.fd() is readable
 *         client.process();
 *     }
 *
 * An operation is cancelled when it goes out of scope. A callback may be moved
 * only, and is freed once it was called or cancelled. If it throws, the program
 * ends with std::terminate().
 */
#ifndef HF_HOLDFAST_HPP
#define HF_HOLDFAST_HPP

#include <holdfast/holdfast.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast
{

/** Why a call did not succeed. */
class error : public std::runtime_error
{
  public:
    explicit error(const hf_error &why)
        : std::runtime_error(why.text), status_(why.status), node_(why.node)
    {
    }

    explicit error(hf_status status)
        : std::runtime_error(hf_status_text(status)), status_(status), node_(-1)
    {
    }

    hf_status status() const noexcept
    {
        return status_;
    }

    /** Index of the node concerned, or -1. */
    int node() const noexcept
    {
        return node_;
    }

  private:
    hf_status status_;
    int node_;
};

/** A one-shot cancel token, for request::cancel() and, as get(), for
 * hf_client_options. It must outlive what it is given to. */
class cancel_token
{
  public:
    cancel_token() : handle_(nullptr)
    {
        hf_error why;
        if (hf_cancel_new(&handle_, &why) != HF_OK) {
            throw error(why);
        }
    }

    cancel_token(const cancel_token &) = delete;
    cancel_token &operator=(const cancel_token &) = delete;

    ~cancel_token()
    {
        hf_cancel_free(handle_);
    }

    hf_cancel *get() const noexcept
    {
        return handle_;
    }

    /** Safe in a signal handler. */
    void trigger() const noexcept
    {
        hf_cancel_trigger(handle_);
    }

    bool is_triggered() const noexcept
    {
        return hf_cancel_is_triggered(handle_);
    }

  private:
    hf_cancel *handle_;
};

/** What to acquire; see struct hf_request. Made from a name alone, it does not
 * wait. */
class request
{
  public:
    request(const char *name) : request(std::string(name)) /* NOLINT */
    {
    }

    request(std::string name) /* NOLINT: client.acquire(name) reads well */
    {
        hf_request_init(&plain_, nullptr);
        names_.emplace_back(std::move(name), HF_EXCLUSIVE);
    }

    request &ttl(std::chrono::milliseconds lease)
    {
        plain_.ttl_ms = lease.count();
        return *this;
    }

    request &wait(std::chrono::milliseconds at_most)
    {
        plain_.wait_ms = at_most.count();
        return *this;
    }

    request &wait_forever()
    {
        plain_.wait_ms = HF_WAIT_FOREVER;
        return *this;
    }

    /** Shown to others beside host and pid. */
    request &label(std::string text)
    {
        label_ = std::move(text);
        return *this;
    }

    /** The last name given so far: held with others who share it. */
    request &shared()
    {
        names_.back().second = HF_SHARED;
        return *this;
    }

    /** A semaphore: at most @p count hold the name at once. */
    request &permits(uint32_t count)
    {
        plain_.permits = count;
        return *this;
    }

    /** One more name: all are taken, or none. */
    request &also(std::string name)
    {
        names_.emplace_back(std::move(name), HF_EXCLUSIVE);
        return *this;
    }

    /** What only the embedded store can see; see enum hf_liveness. */
    request &liveness(hf_liveness what)
    {
        plain_.liveness = what;
        return *this;
    }

    /** Once @p token is triggered, it throws with HF_CANCELLED. */
    request &cancel(const cancel_token &token)
    {
        plain_.cancel = token.get();
        return *this;
    }

    /** hf_lock_user() returns it. */
    request &user(void *pointer)
    {
        plain_.user = pointer;
        return *this;
    }

    /** As holdfast.h takes it. It borrows from this request, and from @p more,
     * which is filled. */
    hf_request plain(std::vector<hf_name> &more) const
    {
        hf_request out = plain_;
        out.name = names_.front().first.data();
        out.name_len = names_.front().first.size();
        out.mode = names_.front().second;
        out.label = label_.empty() ? nullptr : label_.c_str();
        more.clear();
        for (size_t i = 1; i < names_.size(); i++) {
            hf_name name = hf_name();
            name.name = names_[i].first.data();
            name.name_len = names_[i].first.size();
            name.mode = names_[i].second;
            more.push_back(name);
        }
        out.more = more.empty() ? nullptr : more.data();
        out.n_more = more.size();
        return out;
    }

  private:
    hf_request plain_;
    std::vector<std::pair<std::string, hf_mode>> names_;
    std::string label_;
};

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

/** A lock that is held until this goes out of scope. */
class lock
{
  public:
    lock() noexcept : handle_(nullptr)
    {
    }

    /** Own @p handle, a lock of @p client. */
    lock(std::shared_ptr<hf_client> client, hf_lock *handle) noexcept
        : client_(std::move(client)), handle_(handle)
    {
    }

    lock(const lock &) = delete;
    lock &operator=(const lock &) = delete;

    lock(lock &&other) noexcept
        : client_(std::move(other.client_)), handle_(other.handle_)
    {
        other.handle_ = nullptr;
    }

    lock &operator=(lock &&other) noexcept
    {
        if (this != &other) {
            release();
            client_ = std::move(other.client_);
            handle_ = other.handle_;
            other.handle_ = nullptr;
        }
        return *this;
    }

    ~lock()
    {
        release();
    }

    /** Is there a lock? Whether it is still held, say state() and
     * valid_for(). */
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /** For the functions of holdfast.h; still owned by this. */
    hf_lock *get() const noexcept
    {
        return handle_;
    }

    uint64_t fence() const noexcept
    {
        return hf_lock_fence(handle_);
    }

    bool valid_for(std::chrono::milliseconds span) const noexcept
    {
        return hf_lock_valid_for(handle_, span.count());
    }

    hf_state state() const noexcept
    {
        return hf_lock_state(handle_);
    }

    std::chrono::milliseconds remaining() const noexcept
    {
        return std::chrono::milliseconds(hf_lock_remaining_ms(handle_));
    }

    std::string name() const
    {
        size_t len = 0;
        const void *bytes = hf_lock_name(handle_, &len);
        return len == 0 ? std::string()
                        : std::string(static_cast<const char *>(bytes), len);
    }

    /** "OWNER@FENCE", for logs. */
    std::string owner() const
    {
        char text[HF_OWNER_TEXT_MAX];
        hf_lock_owner(handle_, text);
        return text;
    }

    /** Renew now, with another lease length from here on; 0 keeps it. */
    void extend(std::chrono::milliseconds ttl = std::chrono::milliseconds(0))
    {
        hf_error why;
        if (hf_lock_extend(handle_, ttl.count(), &why) != HF_OK) {
            throw error(why);
        }
    }

    /** Give it back now. @return as hf_lock_release(); HF_OK if empty. */
    hf_status release() noexcept
    {
        hf_lock *handle = handle_;
        handle_ = nullptr;
        hf_status status = hf_lock_release(handle);
        client_.reset();
        return status;
    }

    /** Give it back, but keep the name taken for @p span from now on. With
     * HF_INVALID and HF_UNSUPPORTED nothing was done: the lock is still here.
     */
    hf_status release_reserved(std::chrono::milliseconds span) noexcept
    {
        hf_status status = hf_lock_release_reserved(handle_, span.count());
        if (status != HF_INVALID && status != HF_UNSUPPORTED) {
            handle_ = nullptr;
            client_.reset();
        }
        return status;
    }

    /** Turn it into a text that client::adopt() takes, and become empty. Also
     * empty if it throws with HF_LOST; otherwise the lock is still here. */
    std::string detach()
    {
        char text[HF_OWNER_TEXT_MAX];
        hf_status status = hf_lock_detach(handle_, text);
        if (status == HF_OK || status == HF_LOST) {
            handle_ = nullptr;
            client_.reset();
        }
        if (status != HF_OK) {
            throw error(status);
        }
        return text;
    }

    /** Start extend(); at its end done(const hf_error &). Throws if it did not
     * start. */
    template <typename Done>
    operation start_extend(std::chrono::milliseconds ttl, Done done)
    {
        using state = detail::plain_end<Done>;
        return detail::begin(std::make_shared<state>(std::move(done)),
                             [&](state *user, hf_op **out, hf_error *why) {
                                 return hf_op_start_extend(handle_, ttl.count(),
                                                           state::call, user,
                                                           out, why);
                             });
    }

    /** Start release(), and become empty; at its end done(const hf_error &).
     * Nothing cancels it. Throws if this is empty. */
    template <typename Done> void start_release(Done done)
    {
        using state = detail::plain_end<Done>;
        if (handle_ == nullptr) {
            throw error(HF_INVALID);
        }
        std::shared_ptr<state> user = std::make_shared<state>(std::move(done));
        user->self = user;
        hf_op_start_release(handle_, state::call, user.get());
        handle_ = nullptr;
        client_.reset();
    }

    /** The same for release_reserved(). Throws if it did not start: then the
     * lock is still here. */
    template <typename Done>
    void start_release_reserved(std::chrono::milliseconds span, Done done)
    {
        using state = detail::plain_end<Done>;
        std::shared_ptr<state> user = std::make_shared<state>(std::move(done));
        user->self = user;
        hf_status status = hf_op_start_release_reserved(
            handle_, span.count(), state::call, user.get());
        if (status != HF_OK) {
            user->self.reset();
            throw error(status);
        }
        handle_ = nullptr;
        client_.reset();
    }

    /** Start detach(), and become empty; at its end done(std::string text,
     * holdfast::lock, const hf_error &). The lock is back there if it was
     * neither detached nor lost. Throws if it did not start: then it is still
     * here. */
    template <typename Done> operation start_detach(Done done)
    {
        using state = detail::text_end<Done, lock>;
        std::shared_ptr<state> user =
            std::make_shared<state>(std::move(done), client_);
        operation started =
            detail::begin(user, [&](state *self, hf_op **out, hf_error *why) {
                self->lock = handle_;
                hf_status status =
                    hf_op_start_detach(handle_, state::call, self, out, why);
                self->lock = status == HF_OK ? handle_ : nullptr;
                return status;
            });
        handle_ = nullptr;
        client_.reset();
        return started;
    }

  private:
    std::shared_ptr<hf_client> client_; /* closed after the lock's release */
    hf_lock *handle_;
};

/** What hf_info_*() read; freed by itself. */
struct info_free {
    void operator()(hf_info *info) const noexcept
    {
        hf_info_free(info);
    }
};
using info = std::unique_ptr<hf_info, info_free>;

/** A store. Copies are the same client. */
/** A value, as client::get_value() read it. */
struct value {
    std::string data;
    std::uint64_t version; /**< 0: there is no value */
};

namespace detail
{

/** The callback of hf_value_update(): an exception must not pass through C. */
template <typename Change> struct value_change {
    Change &change;
    std::string data;
    std::exception_ptr thrown;

    static hf_status call(void *user, const hf_value *now, const void **data,
                          std::size_t *len)
    {
        auto *self = static_cast<value_change *>(user);
        try {
            std::size_t n = 0;
            auto *bytes = static_cast<const char *>(hf_value_data(now, &n));
            value before = {std::string(n > 0 ? bytes : "", n),
                            hf_value_version(now)};
            self->data = self->change(before);
        } catch (...) {
            self->thrown = std::current_exception();
            return HF_CANCELLED;
        }
        *data = self->data.data();
        *len = self->data.size();
        return HF_OK;
    }
};

} // namespace detail

class client
{
  public:
    /** @p url NULL: the embedded store of the effective user. */
    explicit client(const char *url = nullptr,
                    const hf_client_options *options = nullptr)
    {
        hf_client *handle = nullptr;
        hf_error why;
        if (hf_client_open(url, options, &handle, &why) != HF_OK) {
            throw error(why);
        }
        handle_.reset(handle, hf_client_close);
    }

    explicit client(const std::string &url,
                    const hf_client_options *options = nullptr)
        : client(url.c_str(), options)
    {
    }

    /** For the functions of holdfast.h; still owned by this. */
    hf_client *get() const noexcept
    {
        return handle_.get();
    }

    /** Throws unless it is HF_OK. */
    lock acquire(const request &what) const
    {
        hf_error why;
        lock out;
        if (take(what, &out, &why) != HF_OK) {
            throw error(why);
        }
        return out;
    }

    /** An empty lock if another has it until the wait is over; throws
     * otherwise. */
    lock try_acquire(const request &what) const
    {
        hf_error why;
        lock out;
        hf_status status = take(what, &out, &why);
        if (status != HF_OK && status != HF_BUSY) {
            throw error(why);
        }
        return out;
    }

    /** The lock that lock::detach() made a text of. */
    lock adopt(const request &what, const std::string &owner) const
    {
        std::vector<hf_name> more;
        hf_request plain = what.plain(more);
        hf_lock *handle = nullptr;
        hf_error why;
        if (hf_lock_adopt(get(), &plain, owner.c_str(), &handle, &why) !=
            HF_OK) {
            throw error(why);
        }
        return lock(handle_, handle);
    }

    info inspect(const std::string &name) const
    {
        hf_info *found = nullptr;
        hf_error why;
        if (hf_client_inspect(get(), name.data(), name.size(), &found, &why) !=
            HF_OK) {
            throw error(why);
        }
        return info(found);
    }

    /** hf_value_get(). */
    value get_value(const std::string &name) const
    {
        hf_value *found = nullptr;
        hf_error why;
        if (hf_value_get(get(), name.data(), name.size(), &found, &why) !=
            HF_OK) {
            throw error(why);
        }
        std::unique_ptr<hf_value, void (*)(hf_value *)> owner(found,
                                                              hf_value_free);
        std::size_t len = 0;
        auto *data = static_cast<const char *>(hf_value_data(found, &len));
        return {std::string(len > 0 ? data : "", len), hf_value_version(found)};
    }

    /** hf_value_put(): the new version; 0: the value has another version than
     * @p if_version. Throws otherwise. */
    std::uint64_t put_value(const std::string &name, const std::string &data,
                            std::uint64_t if_version = HF_VERSION_ANY) const
    {
        std::uint64_t version = 0;
        hf_error why;
        hf_status status =
            hf_value_put(get(), name.data(), name.size(), data.data(),
                         data.size(), if_version, &version, &why);
        if (status != HF_OK && status != HF_BUSY) {
            throw error(why);
        }
        return status == HF_OK ? version : 0;
    }

    /** Delete it; false: it has another version. Throws otherwise. */
    bool delete_value(const std::string &name,
                      std::uint64_t if_version = HF_VERSION_ANY) const
    {
        hf_error why;
        hf_status status = hf_value_put(get(), name.data(), name.size(),
                                        nullptr, 0, if_version, nullptr, &why);
        if (status != HF_OK && status != HF_BUSY) {
            throw error(why);
        }
        return status == HF_OK;
    }

    /** hf_value_update() without a time limit: std::string change(const value
     * &) makes the new value of the present one, and is called again if another
     * client has written meanwhile. What it throws ends the update. Returns the
     * new version. */
    template <typename Change>
    std::uint64_t update_value(const std::string &name, Change change) const
    {
        detail::value_change<Change> state = {change, std::string(), nullptr};
        std::uint64_t version = 0;
        hf_error why;
        hf_status status =
            hf_value_update(get(), name.data(), name.size(), HF_WAIT_FOREVER,
                            state.call, &state, &version, &why);
        if (state.thrown) {
            std::rethrow_exception(state.thrown);
        }
        if (status != HF_OK) {
            throw error(why);
        }
        return version;
    }

    /** Readable when process() has something to do; -1: hf_client_fd(). */
    int fd() const noexcept
    {
        return hf_client_fd(get());
    }

    /** Do what is due, and call back: hf_client_process(). */
    void process() const noexcept
    {
        hf_client_process(get());
    }

    /** Start acquire(); at its end done(holdfast::lock, const hf_error &), with
     * an empty lock unless the status is HF_OK. Throws if it did not start, as
     * all that follow. */
    template <typename Done>
    operation start_acquire(const request &what, Done done) const
    {
        using state = detail::lock_end<Done, lock>;
        std::vector<hf_name> more;
        hf_request plain = what.plain(more);
        return detail::begin(std::make_shared<state>(std::move(done), handle_),
                             [&](state *user, hf_op **out, hf_error *why) {
                                 return hf_op_start_acquire(get(), &plain,
                                                            state::call, user,
                                                            out, why);
                             });
    }

    /** Start adopt(); the same end. */
    template <typename Done>
    operation
    start_adopt(const request &what, const std::string &owner, Done done) const
    {
        using state = detail::lock_end<Done, lock>;
        std::vector<hf_name> more;
        hf_request plain = what.plain(more);
        return detail::begin(std::make_shared<state>(std::move(done), handle_),
                             [&](state *user, hf_op **out, hf_error *why) {
                                 return hf_op_start_adopt(
                                     get(), &plain, owner.c_str(), state::call,
                                     user, out, why);
                             });
    }

    /** Start inspect(); at its end done(holdfast::info, const hf_error &). */
    template <typename Done>
    operation start_inspect(const std::string &name, Done done) const
    {
        using state = detail::info_end<Done, info>;
        return detail::begin(std::make_shared<state>(std::move(done)),
                             [&](state *user, hf_op **out, hf_error *why) {
                                 return hf_op_start_inspect(
                                     get(), name.data(), name.size(),
                                     state::call, user, out, why);
                             });
    }

    /** Start hf_client_queue(): bool each(const hf_queue_entry *), and at its
     * end done(const hf_error &). */
    template <typename Each, typename Done>
    operation start_queue(const std::string &name, Each each, Done done) const
    {
        using state = detail::each_end<Each, Done>;
        using end = detail::plain_end<Done>;
        return detail::begin(
            std::make_shared<state>(std::move(each), std::move(done)),
            [&](end *user, hf_op **out, hf_error *why) {
                return hf_op_start_queue(get(), name.data(), name.size(),
                                         state::call_entry, end::call, user,
                                         out, why);
            });
    }

    /** Start hf_client_list(): bool each(const std::string &name, const hf_info
     * *), and at its end done(const hf_error &). @p pattern "": all names. */
    template <typename Each, typename Done>
    operation start_list(const std::string &pattern, Each each, Done done) const
    {
        using state = detail::each_end<Each, Done>;
        using end = detail::plain_end<Done>;
        return detail::begin(
            std::make_shared<state>(std::move(each), std::move(done)),
            [&](end *user, hf_op **out, hf_error *why) {
                return hf_op_start_list(
                    get(), pattern.empty() ? nullptr : pattern.c_str(),
                    state::call_name, end::call, user, out, why);
            });
    }

    /** Start hf_client_break_wait(): bool may_wait(const hf_holder *,
     * std::chrono::milliseconds), and at its end
     * done(std::chrono::milliseconds held_until, const hf_error &). */
    template <typename May, typename Done>
    operation
    start_break(const std::string &name, May may_wait, Done done) const
    {
        using state = detail::break_end<May, Done>;
        return detail::begin(
            std::make_shared<state>(std::move(may_wait), std::move(done)),
            [&](state *user, hf_op **out, hf_error *why) {
                return hf_op_start_break(get(), name.data(), name.size(), false,
                                         state::call_may_wait, state::call,
                                         user, out, why);
            });
    }

    /** Start hf_client_break() that frees the name at once; the same end. */
    template <typename Done>
    operation start_break_now(const std::string &name, Done done) const
    {
        using may = bool (*)(const hf_holder *, std::chrono::milliseconds);
        using state = detail::break_end<may, Done>;
        return detail::begin(std::make_shared<state>(nullptr, std::move(done)),
                             [&](state *user, hf_op **out, hf_error *why) {
                                 return hf_op_start_break(
                                     get(), name.data(), name.size(), true,
                                     nullptr, state::call, user, out, why);
                             });
    }

    /** End every blocking call with HF_CANCELLED. */
    void interrupt() const noexcept
    {
        hf_client_interrupt(get());
    }

  private:
    hf_status take(const request &what, lock *out, hf_error *why) const
    {
        std::vector<hf_name> more;
        hf_request plain = what.plain(more);
        hf_lock *handle = nullptr;
        hf_status status = hf_lock_acquire(get(), &plain, &handle, why);
        *out = lock(status == HF_OK ? handle_ : nullptr, handle);
        return status;
    }

    std::shared_ptr<hf_client> handle_;
};

} // namespace holdfast

#endif

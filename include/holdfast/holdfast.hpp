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
 * or assigned to. Callbacks are called by C: they must not throw.
 */
#ifndef HF_HOLDFAST_HPP
#define HF_HOLDFAST_HPP

#include <holdfast/holdfast.h>

#include <chrono>
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

    /** Give it back, but keep the name taken for @p span from now on. */
    hf_status release_reserved(std::chrono::milliseconds span) noexcept
    {
        hf_lock *handle = handle_;
        handle_ = nullptr;
        hf_status status = hf_lock_release_reserved(handle, span.count());
        client_.reset();
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

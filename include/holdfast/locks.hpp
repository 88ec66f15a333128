/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Locks.
 * A part of holdfast/holdfast.hpp: include that one.
 */
#ifndef HF_HOLDFAST_LOCKS_HPP
#define HF_HOLDFAST_LOCKS_HPP

#include <holdfast/operations.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace holdfast
{

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

} // namespace holdfast

#endif

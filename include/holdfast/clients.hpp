/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Clients, and what they read.
 * A part of holdfast/holdfast.hpp: include that one.
 */
#ifndef HF_HOLDFAST_CLIENTS_HPP
#define HF_HOLDFAST_CLIENTS_HPP

#include <holdfast/locks.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast
{

/** What hf_info_*() read; freed by itself. */
struct info_free {
    void operator()(hf_info *info) const noexcept
    {
        hf_info_free(info);
    }
};
using info = std::unique_ptr<hf_info, info_free>;

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

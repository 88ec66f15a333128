/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Errors, cancel tokens and requests.
 * A part of holdfast/holdfast.hpp: include that one.
 */
#ifndef HF_HOLDFAST_REQUESTS_HPP
#define HF_HOLDFAST_REQUESTS_HPP

#include <holdfast/holdfast.h>

#include <chrono>
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

} // namespace holdfast

#endif

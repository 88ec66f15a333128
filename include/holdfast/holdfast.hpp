/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Holdfast for C++11: handles that free themselves, and exceptions. Everything
 * here is inline and calls holdfast.h, which remains the manual. As that one
 * this header has parts, and a program includes this one alone.
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

#include <holdfast/clients.hpp>
#include <holdfast/locks.hpp>
#include <holdfast/operations.hpp>
#include <holdfast/requests.hpp>

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Contends for a key through a library of npm, until FOLDER/stop exists.
 *
 *     node contender.js redlock|semaphore NAME SOCKET,... SECTION FOLDER
 *
 * Notes in FOLDER/trouble what should not happen: a release that found the
 * lock gone or held by another client. */
'use strict';
const { spawnSync } = require('child_process');
const fs = require('fs');
const Redis = require('ioredis');

const [library, name, sockets, section, folder] = process.argv.slice(2);
const ttl = 2000;

const clients = sockets.split(',').map((path) => {
  const client = new Redis({
    path,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => 200,
  });
  client.on('error', () => {}); // a dead server is part of the test
  return client;
});
const connected = clients.map(
  (client) => new Promise((resolve) => client.once('ready', resolve)));

function trouble(text) {
  fs.appendFileSync(`${folder}/trouble`, `${library}: ${text}\n`);
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function inside() {
  spawnSync(section, [folder, 'theirs', '5'], { stdio: 'inherit' });
}

/* node-redlock asks for a majority to release a lock too, and misses it if one
 * server of the majority that granted the lock has died since. A lock that was
 * taken away is missing at more live servers than a grant needs not have had. */
async function isTakenAway(error) {
  const { ResourceLockedError } = require('redlock');
  const minority = Math.ceil(clients.length / 2) - 1;
  const votes = await Promise.all(error.attempts || []);
  return votes.length === 0 || votes.some(({ votesAgainst }) =>
    [...votesAgainst.values()].filter(
      (vote) => vote instanceof ResourceLockedError).length > minority);
}

/* Each returns null, or what gives the lock back. */
function byRedlock() {
  const { default: Redlock } = require('redlock');
  const redlock = new Redlock(clients, { retryCount: 0, driftFactor: 0.01 });
  redlock.on('error', () => {});
  return async () => {
    let lock;
    try {
      lock = await redlock.acquire([name], ttl);
    } catch (error) {
      return null;
    }
    return async () => {
      await lock.release();
    };
  };
}

function bySemaphore() {
  const { Mutex, RedlockMutex } = require('redis-semaphore');
  return async () => {
    const options = {
      lockTimeout: ttl,
      acquireTimeout: 1000,
      acquireAttemptsLimit: 1,
      retryInterval: 10,
      refreshInterval: 0,
      onLockLost: () => trouble('lock lost'),
    };
    const mutex = clients.length === 1
      ? new Mutex(clients[0], name, options)
      : new RedlockMutex(clients, name, options);
    return (await mutex.tryAcquire()) ? () => mutex.release() : null;
  };
}

async function main() {
  const acquire = library === 'redlock' ? byRedlock() : bySemaphore();
  // sleeps: the time limit of the connections
  await Promise.race([Promise.all(connected), sleep(3000)]);
  while (!fs.existsSync(`${folder}/stop`)) {
    const release = await acquire();
    if (release === null) {
      await sleep(5 + Math.random() * 25); // sleeps: until it tries again
      continue;
    }
    const taken = Date.now();
    inside();
    // Later than half of the lease: we, or the servers, stood still.
    const isLate = Date.now() - taken > ttl / 2;
    try {
      await release();
    } catch (error) {
      if (!isLate && await isTakenAway(error)) {
        trouble(`release: ${error.message}`);
      }
    }
    await sleep(Math.random() * 10); // sleeps: the load
  }
  process.exit(0);
}

main();

/* SPDX-License-Identifier: Apache-2.0 */
/* One lock of another library, by hand: a line on stdin, a line on stdout.
 *
 *     node stranger.js redlock|semaphore NAME SOCKET,...
 *
 *     acquire -> acquired | refused        release -> released | failed */
'use strict';
const readline = require('readline');
const Redis = require('ioredis');

const [library, name, sockets] = process.argv.slice(2);
const clients = sockets.split(',').map((path) => new Redis({ path }));

function mutex() {
  const { Mutex, RedlockMutex } = require('redis-semaphore');
  const options = {
    lockTimeout: 30000,
    acquireTimeout: 1000,
    acquireAttemptsLimit: 1,
    retryInterval: 10,
    refreshInterval: 0,
  };
  return clients.length === 1
    ? new Mutex(clients[0], name, options)
    : new RedlockMutex(clients, name, options);
}

let lock;
async function acquire() {
  if (library === 'redlock') {
    const { default: Redlock } = require('redlock');
    const redlock = new Redlock(clients, { retryCount: 0 });
    redlock.on('error', () => {});
    lock = await redlock.acquire([name], 30000);
    return 'acquired';
  }
  lock = mutex();
  return (await lock.tryAcquire()) ? 'acquired' : 'refused';
}

async function main() {
  for await (const line of readline.createInterface(process.stdin)) {
    let answer;
    try {
      if (line === 'acquire') {
        answer = await acquire();
      } else {
        await lock.release();
        answer = 'released';
      }
    } catch (error) {
      answer = line === 'acquire' ? 'refused' : 'failed';
    }
    console.log(answer);
  }
  process.exit(0);
}

main();

/* SPDX-License-Identifier: Apache-2.0 */
/* client.c with a library of npm: the same work, the same lines.
 *
 *     node client.js node-redlock|redis-semaphore ID HOST:PORT,... REGISTER
 *         EPOCH-FILE JOURNAL TTL_MS CLOCK-OFFSET-NS
 *
 * Exclusive locks only, and the unguarded register: there is no fence to guard
 * with. Each is used as its manual says, and kept alive while it is held; a
 * request to a dead server ends after 300 ms. */
'use strict';
const fs = require('fs');
const net = require('net');
const readline = require('readline');
const Redis = require('ioredis');

const [library, id, addresses, registerPath, epochPath, journalPath, ttlText,
  offset] = process.argv.slice(2);
const ttl = Number(ttlText);

const clients = addresses.split(',').map((address) => {
  const [host, port] = address.split(':');
  const client = new Redis({
    host,
    port: Number(port),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1000,
    commandTimeout: 300,
    retryStrategy: () => 200,
  });
  client.on('error', () => {}); // dead servers are what this is about
  return client;
});

/* ---- Journal, clock and register ----------------------------------------- */

const journalFile = fs.openSync(journalPath, 'a');
let attempt = 0;
let ending = false;

/* What journal_now() says: CLOCK_BOOTTIME. */
function now() {
  return process.hrtime.bigint() + BigInt(offset);
}

function journal(t, ev, rest) {
  const line = `{"t":${t},"ev":"${ev}",${
    Object.entries({ a: attempt, ...rest })
      .map(([key, value]) => `"${key}":${JSON.stringify(value)}`)
      .join(',')}}\n`;
  fs.writeSync(journalFile, line);
}

const register = net.connect(registerPath);
const waiting = [];
readline.createInterface(register).on('line', (line) => {
  waiting.shift()(line);
});
register.on('close', () => process.exit(1));
register.write(`hello ${id}\n`);

function ask(request) {
  return new Promise((resolve) => {
    waiting.push(resolve);
    register.write(`${request}\n`);
  });
}

async function addOne(name) {
  const value = (await ask(`read u ${name} 0`)).split(' ')[1];
  await think();
  await ask(`write u ${name} 0 ${value}`);
}

/* ---- Chance ---------------------------------------------------------------- */

function draw(below) {
  return Math.floor(Math.random() * below);
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function think() {
  // sleeps: the load, drawn by the seed
  return sleep(draw(draw(4) === 0 ? 60 : 8));
}

/* ---- Libraries: take() gives null, or a lock ------------------------------ */

function left(lock) {
  return Math.floor(lock.expiration - Date.now());
}

function byRedlock() {
  const { default: Redlock } = require('redlock');
  const redlock = new Redlock(clients, { driftFactor: 0.01 });
  redlock.on('error', () => {});
  return async (name, wait) => {
    const settings = wait > 0
      ? { retryCount: Math.ceil(wait / 50), retryDelay: 50, retryJitter: 25 }
      : { retryCount: 0 };
    let lock = await redlock.acquire([name], ttl, settings).catch(() => null);
    if (lock === null) {
      return null;
    }
    let isEnding = false;
    const extend = setInterval(async () => {
      const longer = await lock.extend(ttl).catch(() => null);
      lock = longer === null || isEnding ? lock : longer;
    }, ttl / 3);
    return {
      left: () => left(lock),
      isMine: () => left(lock) > 20,
      release: async () => {
        isEnding = true;
        clearInterval(extend);
        await lock.release();
      },
    };
  };
}

/* It tells no deadline: what it says holds at the moment at which it says it. */
function bySemaphore() {
  const { RedlockMutex } = require('redis-semaphore');
  return async (name, wait) => {
    let isLost = false;
    const mutex = new RedlockMutex(clients, name, {
      lockTimeout: ttl,
      acquireTimeout: Math.max(wait, 1000),
      acquireAttemptsLimit: wait > 0 ? Number.POSITIVE_INFINITY : 1,
      retryInterval: 50,
      onLockLost: () => {
        isLost = true;
        journal(now(), 'lost', {});
      },
    });
    if (!(await mutex.tryAcquire().catch(() => false))) {
      return null;
    }
    return {
      left: () => 0,
      isMine: () => !isLost && mutex.isAcquired,
      release: () => mutex.release(),
    };
  };
}

/* ---- Turns ------------------------------------------------------------------ */

/* The clock is read before asking: what is written down is never too much. */
function isMine(lock) {
  const t = now();
  const ms = lock.left();
  if (!lock.isMine()) {
    return false;
  }
  journal(t, 'obs', { left: ms });
  return true;
}

async function work(lock, name) {
  if (name.endsWith('long') || draw(60) === 0) {
    const until = Date.now() + ttl * (0.3 + 1.2 * Math.random());
    while (Date.now() < until && !ending && isMine(lock)) {
      await sleep(25);
    }
  }
  for (let i = 1 + draw(3); i > 0 && isMine(lock); i--) {
    await addOne(name);
  }
}

async function turn(take) {
  const epoch = fs.readFileSync(epochPath, 'utf8').trim();
  const which = draw(20);
  const name = `e${epoch}.${
    which < 12 ? 'x0' : which < 19 ? 'x1' : 'long'}`;
  const wait = draw(2) === 0 ? 0 : draw(1500);
  attempt++;
  journal(now(), 'begin', { lock: name, mode: 'x', limit: 0, wait });
  const lock = await take(name, wait);
  if (lock === null) {
    journal(now(), 'fail', { status: 'HF_BUSY', text: 'or unreachable' });
    return;
  }
  const t = now();
  journal(t, 'ok', { fence: 0, slot: -1, left: lock.left() });
  await work(lock, name);
  journal(now(), 'release', {});
  const status = await lock.release().then(() => 'HF_OK', () => 'HF_LOST');
  journal(now(), 'released', { status });
}

async function main() {
  const take = library === 'node-redlock' ? byRedlock() : bySemaphore();
  await Promise.all(clients.map(
    (client) => new Promise((resolve) => client.once('ready', resolve))));
  while (!ending) {
    await turn(take);
    await sleep(1 + draw(15)); // sleeps: the load, drawn by the seed
  }
  process.exit(0);
}

process.on('SIGTERM', () => {
  ending = true;
});
process.on('unhandledRejection', () => {}); // of requests to dead servers
main();
